"""Internal. What runs a planned program: Spark, or this process alone.

No name in this package is public; it changes without notice.
"""
