"""The Spark runner; nothing else imports pyspark."""
