"""The parts of ``headrace.table.catalog``."""
