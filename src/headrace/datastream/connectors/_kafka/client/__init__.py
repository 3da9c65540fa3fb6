"""What source and sink share: librdkafka, and its clients."""
