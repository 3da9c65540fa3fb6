"""What a job keeps between runs."""
