"""What only Spark itself can show; one session serves all of these tests."""
