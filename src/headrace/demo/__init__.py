"""Demo programs."""
