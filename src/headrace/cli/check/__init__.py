"""``headrace check``: what of a program works here, found without running it."""
