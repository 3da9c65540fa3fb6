"""Windows: how records are assigned to them, when they fire, and what is taken out of them."""
