"""The declared types of records: what each is, and how values are made to fit it."""
