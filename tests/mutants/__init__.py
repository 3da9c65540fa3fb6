"""How many of a few hundred wrong programs the tests find: ``python -m tests.mutants``."""
