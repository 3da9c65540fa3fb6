"""Tumbling and sliding event-time windows, whose bounds are the same for all keys."""
