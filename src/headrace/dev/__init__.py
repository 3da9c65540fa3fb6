"""Servers for development and tests: Kafka, a schema registry, Redis, PostgreSQL."""
