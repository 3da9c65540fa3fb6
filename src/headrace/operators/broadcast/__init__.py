"""Operators of a stream and a broadcast stream, whose records change the state of all tasks."""
