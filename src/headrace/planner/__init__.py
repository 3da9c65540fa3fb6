"""Internal. From the graph of a program to the stages that run, in passes.

No name in this package is public; it changes without notice.
"""
