"""Operators of two connected streams, whose functions have a method for each stream."""
