"""JSON: messages, values by their declared types, dataclasses."""
