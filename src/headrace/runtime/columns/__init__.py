"""Columns: records as Arrow record batches, from sources through operators and exchanges."""
