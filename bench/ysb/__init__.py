"""The Yahoo Streaming Benchmark, whole: Kafka, filter, projection, join, windows, Redis."""
