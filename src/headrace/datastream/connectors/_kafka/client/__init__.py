"""The librdkafka clients of source and sink."""
