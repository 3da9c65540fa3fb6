"""The trades job against the independent oracle."""
