"""Internal. The operators: for each a spec, which is immutable, and its runtime logic.

No name in this package is public; it changes without notice.
"""
