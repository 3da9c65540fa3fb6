"""Storage of checkpoints and outputs: an object store, and operations on local files."""
