"""What the facade is made with: it checks a call, and adds a node to the graph."""
