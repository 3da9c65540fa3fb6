"""Internal. The graph that a program builds: nodes, edges, and the checks on them.

No name in this package is public; it changes without notice.
"""
