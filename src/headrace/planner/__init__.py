"""From the logical graph to the program that runs."""
