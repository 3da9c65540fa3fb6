"""What runs a program: Spark, or this process."""
