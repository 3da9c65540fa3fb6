"""The programs that take part; each is told its options on the command line."""
