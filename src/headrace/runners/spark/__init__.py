"""Runs programs on Spark; nothing else imports pyspark."""
