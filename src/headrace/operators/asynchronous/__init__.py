"""Functions that wait for something outside: many records at a time, on an event loop."""
