"""JSON: messages, values of declared types, dataclasses."""
