"""Operators of a stream and a broadcast one, whose records change the state of all tasks."""
