"""The trades job on Kafka: three topics in, three topics out, exactly once."""

from headrace.demo.trades.kafka.run import main

__all__ = ["main"]
