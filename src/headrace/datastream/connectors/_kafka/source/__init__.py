"""Reading topics: where to begin, how far to read, and what records become."""
