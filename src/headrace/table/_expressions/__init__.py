"""The expressions of the Table API; ``headrace.table.expression`` offers them."""
