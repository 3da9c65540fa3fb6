"""The display of a running job in a terminal, and its page in a browser."""
