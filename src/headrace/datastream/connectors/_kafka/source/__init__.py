"""Reading topics: first and last offsets, discovery of partitions, deserialization."""
