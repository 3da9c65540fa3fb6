"""The process from which Spark forks Python workers, with all modules imported.

Importing pandas alone takes a cold worker more than a second (Spark 4.3, 2 cores). It is used by
local sessions that Headrace makes, and by submitted sessions whose executors have Headrace.
"""

from __future__ import annotations

import gc
import os

import numpy.random
import pandas
import pyarrow
from pyspark.daemon import manager

from headrace.runners.spark.query import keyed_stage, source

PRELOADED = (
    pandas,
    pyarrow,
    keyed_stage,
    source,
)


def prepare_forks() -> None:
    """Register handlers that run at each fork of a worker."""
    # Spark collects garbage after each use of a worker: exclude the imported modules.
    os.register_at_fork(before=gc.freeze)
    # Otherwise all workers would draw the same numbers. Python's own generator is reseeded.
    os.register_at_fork(after_in_child=numpy.random.seed)


if __name__ == "__main__":
    prepare_forks()
    manager()
