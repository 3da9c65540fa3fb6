"""The pure core, named after what a record meets."""
