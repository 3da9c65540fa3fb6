"""How a program and the user's classes and modules reach the workers."""
