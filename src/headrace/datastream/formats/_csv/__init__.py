"""CSV: lines from and to rows and columns."""
