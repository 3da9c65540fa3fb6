"""Operators of two connected streams: functions with a method for each."""
