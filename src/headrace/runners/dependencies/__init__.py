"""Dependencies of a job's functions: Python files, archives, packages, cached files."""
