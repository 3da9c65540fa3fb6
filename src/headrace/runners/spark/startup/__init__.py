"""Start-up: Java, the Spark session, and fast starts of Python processes."""
