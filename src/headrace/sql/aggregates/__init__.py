"""The aggregate functions of SQL: one table, a row for each function."""
