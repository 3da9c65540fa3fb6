"""The data types of the Table API; ``headrace.table.types`` offers them."""
