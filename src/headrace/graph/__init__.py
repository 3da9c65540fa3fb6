"""What a program says: nodes, edges, and the checks on them."""
