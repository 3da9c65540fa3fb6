"""A task of a stage: it reads sources, or takes blocks by key, and gives out packets."""
