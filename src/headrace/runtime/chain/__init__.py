"""Operators fused into one task."""
