"""Measurements that are not a rate of records."""
