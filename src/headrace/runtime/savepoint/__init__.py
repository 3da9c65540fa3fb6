"""The savepoint: all of a job's state as records that no runner, stage or page owns."""
