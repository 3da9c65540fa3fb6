"""Servers for development and tests, on this machine: Kafka and what stands beside it."""
