"""Operators that call a function with Arrow record batches or pandas DataFrames."""
