"""SQL as a language: from the text of a statement to a plan, and from the plan to a graph.

Nothing here runs a job or knows a connector: that is in ``headrace.table``.
"""
