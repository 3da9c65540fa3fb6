"""Starts a job on Spark: session, checkpoint and run."""

from __future__ import annotations

import random
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.common._options import catalogue as options
from headrace.common.configuration import Configuration
from headrace.errors import CheckpointError
from headrace.metrics._operator_counts import JobListener
from headrace.runners.delivery import Delivery
from headrace.runners.dependencies.declared import (
    Dependencies,
    interpreter_of,
    is_this_interpreter,
)
from headrace.runners.dependencies.folder import dependencies_folder, working_folder
from headrace.runners.observers import JobObserver
from headrace.runners.restarts import restart_strategy
from headrace.runners.spark.checkpoint.checkpoint import Checkpoint
from headrace.runners.spark.checkpoint.generations import Stages
from headrace.runners.spark.query.shipped_dependencies import ShippedDependencies
from headrace.runners.spark.startup.session import WORKERS_PYTHON, get_session, prepare
from headrace.runtime.layout import Layout, States
from headrace.runtime.program import JobProgram, SinkProgram

if TYPE_CHECKING:
    from headrace.runners.spark.job import SparkJob


def start_on_spark(
    program: JobProgram,
    delivery: Delivery,
    configuration: Configuration,
    fresh: bool,
    dependencies: Dependencies | None = None,
    listeners: Sequence[JobListener] = (),
    observers: Sequence[JobObserver] = (),
) -> SparkJob:
    """Start a job in the active session, or in a new local one."""
    base = None if program.batch else options.read(configuration, options.CHECKPOINT_DIR)
    ignore_unclaimed = options.read(configuration, options.IGNORE_UNCLAIMED_STATE)
    dependencies = dependencies or Dependencies()
    folder = dependencies_folder(dependencies)
    settings = options.spark_settings(configuration.to_dict())
    if dependencies.executable and not is_this_interpreter(dependencies.executable):
        settings[WORKERS_PYTHON] = interpreter_of(dependencies.executable, working_folder(folder))
    parallelism = options.read(configuration, options.PARALLELISM)
    read_states = partial(_read_states, settings, parallelism)
    checkpoint = Checkpoint.open(base, program, fresh, ignore_unclaimed, read_states=read_states)
    try:
        if checkpoint.temporary and not program.batch:
            print(
                f"headrace: no execution.checkpointing.dir is set; the checkpoint of"
                f" {program.name!r} is temporary: {checkpoint.directory}",
                file=sys.stderr,
            )
        elif checkpoint.finished and any(map(_is_collecting, program.sinks)):
            raise CheckpointError(
                f"the job {program.name!r} has run to its end on this checkpoint:"
                " there is nothing left to collect",
                where={"checkpoint": checkpoint.directory},
                hint='give each collection a name of its own, execute_and_collect("name"), or'
                " start anew (`headrace run --fresh`, or"
                f" {options.FRESH_VARIABLE}=1 in the environment)",
            )
        elif checkpoint.resumed:
            print(
                f"headrace: {program.name!r} goes on from {checkpoint.directory}"
                " (headrace run --fresh starts anew)",
                file=sys.stderr,
            )
        warning = Layout.of(program).warning()
        if warning and not checkpoint.temporary:
            print(f"headrace: {program.name!r} has operators with {warning}", file=sys.stderr)
        prepare(settings, parallelism)
        # While the JVM starts: these import pyarrow and numpy.
        from headrace.runners.spark.job import SparkJob
        from headrace.runners.spark.older_copy import with_consistent_sinks
        from headrace.runners.spark.query.dataframes import materialize_dataframes

        spark = get_session(settings, parallelism)
        program = checkpoint.program
        program = replace(program, scope=checkpoint.scope, partitions=checkpoint.partitions)
        write_again = options.read(configuration, options.RESTORE_WRITE_AGAIN)
        program = with_consistent_sinks(checkpoint, program, spark, write_again)
        if not program.batch:
            program = materialize_dataframes(
                program, Path(checkpoint.directory), checkpoint.started_sources
            )
        restarts = restart_strategy(configuration, lambda: random.uniform(-1, 1))
        shipped = ShippedDependencies.ship(spark, folder, dependencies.worker_path)
        return SparkJob(
            spark, program, checkpoint, delivery, restarts, listeners, shipped, observers
        )
    except BaseException:
        checkpoint.close()
        raise


def _read_states(
    settings: Mapping[str, str], parallelism: int | None, folder: str, stages: Stages, batch: int
) -> States:
    """Return the state names in a checkpoint, for the error that an operator is missing."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    from headrace.runners.spark.query.moved_state import state_names
    from headrace.runners.spark.startup.session import settings_of_query

    try:
        spark = get_session(settings, parallelism)
        with settings_of_query(spark, 1, None, dataframes=True):
            return state_names(spark, folder, stages, batch)
    except (PySparkException, Py4JError) as error:
        reason = str(error).partition("\n")[0]
        print(f"headrace: the names of the states cannot be read: {reason}", file=sys.stderr)
        return {}


def _is_collecting(sink: SinkProgram) -> bool:
    return bool(Delivery.takes(sink) and sink.sink.collects)
