"""Tumbling and sliding windows of event time, which are the same for all keys."""
