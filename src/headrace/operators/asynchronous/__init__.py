"""Asynchronous functions: calls for many records at a time, on an event loop."""
