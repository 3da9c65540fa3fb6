"""The declared types of records, and the conversion of values to them."""
