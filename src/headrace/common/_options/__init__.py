"""The configuration keys: their types, defaults and parsing."""
