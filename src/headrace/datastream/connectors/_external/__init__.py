"""What connectors of servers share: addresses without secrets, and results of lookups."""
