"""From plans of SQL to streams."""
