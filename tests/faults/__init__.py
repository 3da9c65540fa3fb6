"""Processes killed while a job runs, and failures put where they hurt most."""
