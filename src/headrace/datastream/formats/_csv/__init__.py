"""CSV: lines to rows and columns, and back."""
