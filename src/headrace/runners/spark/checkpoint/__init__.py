"""A job's checkpoint."""
