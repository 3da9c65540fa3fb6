"""The programs that take part; each gets its options on the command line."""
