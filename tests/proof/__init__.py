"""Proofs that take minutes: programs of their own, not collected by pytest."""
