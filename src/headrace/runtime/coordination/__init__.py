"""What the driver decides for each micro-batch: how far sources are read, and by which task."""
