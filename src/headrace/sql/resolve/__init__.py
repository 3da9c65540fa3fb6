"""From the tree of a query to its plan: names, types, and the rules of the language."""
