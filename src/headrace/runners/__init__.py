"""Internal. The runners, which execute a planned program: on Spark, or in this process.

No name in this package is public; it changes without notice.
"""
