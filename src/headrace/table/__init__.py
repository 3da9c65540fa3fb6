"""The Table API and SQL."""
