"""``headrace check``: finds what does not work of a PyFlink program, without running it."""
