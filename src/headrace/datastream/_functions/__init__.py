"""The base classes of user functions."""
