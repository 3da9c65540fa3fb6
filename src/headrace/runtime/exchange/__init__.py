"""Exchanges: how records leave a task for other tasks and for sinks."""
