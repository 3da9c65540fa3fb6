"""How the methods of tables become trees of queries."""
