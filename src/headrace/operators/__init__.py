"""Internal. The operators: one file for each, a frozen spec and its logic.

No name in this package is public; it changes without notice.
"""
