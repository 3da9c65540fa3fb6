"""Internal. What runs in a task, without Spark, clock or randomness: chains, state, time, exchange.

No name in this package is public; it changes without notice.
"""
