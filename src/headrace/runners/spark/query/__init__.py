"""The query of a job: its source, keyed stages and sink, and the rows between them."""
