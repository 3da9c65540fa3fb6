"""The Spark query of a job: source, keyed stages and sink, and the rows between them."""
