"""What Headrace is compared with: one program each, run in an environment of its own."""
