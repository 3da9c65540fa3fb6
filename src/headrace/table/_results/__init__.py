"""Results of statements: rows, and how they are printed."""
