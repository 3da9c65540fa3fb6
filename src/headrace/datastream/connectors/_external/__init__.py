"""Shared by connectors of servers: addresses without secrets, and results of lookups."""
