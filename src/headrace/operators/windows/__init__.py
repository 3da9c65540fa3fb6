"""Windows of keyed records: a spec, the operator, and what windows keep."""
