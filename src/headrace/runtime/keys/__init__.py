"""Keys: their equality, their hashes, and the key groups that they fall into."""
