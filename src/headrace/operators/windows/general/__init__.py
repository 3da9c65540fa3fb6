"""Windows of any assigner and trigger, with one state for each key and window."""
