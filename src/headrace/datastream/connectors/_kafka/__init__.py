"""Kafka, over librdkafka."""
