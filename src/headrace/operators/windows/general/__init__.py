"""Windows of any assigner and trigger: one state for each window of a key."""
