"""One file per operator: a frozen spec and its logic."""
