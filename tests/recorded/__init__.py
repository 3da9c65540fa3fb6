"""What seeded programs answer, recorded, so that another engine can be compared with this one."""
