"""Builds the program's graph: checks the arguments of an API call, and adds nodes."""
