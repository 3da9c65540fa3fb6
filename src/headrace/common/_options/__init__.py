"""Every configuration key, what its value may be, and how it is read."""
