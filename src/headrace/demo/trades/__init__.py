"""The trade-lifecycle job: three trading systems' messages become linked order hierarchies.

The parts in the order a record meets them: ``fix``, ``beta`` and ``gamma`` decode a line,
``reference`` looks its symbol and account up, ``linker`` links the events of one instrument into
the ``hierarchy`` values that the documents show, and ``trees`` draws one. ``generator`` makes a
trading day to run it on. Nothing here knows a clock, an engine, or a file but the generator's.
"""
