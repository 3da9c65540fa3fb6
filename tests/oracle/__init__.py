"""Brute-force references that tests compare the product with; they import nothing of headrace."""
