"""The process that Spark forks its Python workers from, with everything imported already.

A cold worker spends more than a second on importing pandas alone (Spark 4.3, 2 cores); workers
forked from here find it loaded. Only sessions that Headrace makes use it.
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
    """Prepare this process, so that each worker that is forked from it starts as it should."""
    # Spark collects garbage after each use of a worker: not among what was imported here.
    os.register_at_fork(before=gc.freeze)
    # Else every worker would draw the same numbers; Python's own generator sees to it by itself.
    os.register_at_fork(after_in_child=numpy.random.seed)


if __name__ == "__main__":
    prepare_forks()
    manager()
