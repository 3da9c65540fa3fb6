"""What shows a running job: the display in a terminal, and the page in a browser."""
