"""A connector of somebody else, and what holds it to the contract."""
