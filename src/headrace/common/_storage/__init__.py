"""Where checkpoints and outputs are written: files of this machine, objects under a key."""
