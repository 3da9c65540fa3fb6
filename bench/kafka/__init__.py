"""From Kafka to Kafka on one broker: rates and latency, seen from outside."""
