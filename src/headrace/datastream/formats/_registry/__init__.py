"""Confluent's schema registry: its client, and messages with its header."""
