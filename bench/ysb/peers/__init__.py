"""The benchmark's job, once for each contender. Each runs until it is ended from outside."""
