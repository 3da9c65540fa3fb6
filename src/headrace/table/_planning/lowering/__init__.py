"""From the plans of statements to streams."""
