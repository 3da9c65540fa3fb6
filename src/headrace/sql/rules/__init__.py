"""Passes: functions that change a plan, or say something of it."""
