"""Starts a job on Spark: parallelism, session, checkpoint and run."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from headrace.common._options import catalogue as options
from headrace.common._storage.locations import (
    LOCAL_ONLY,
    is_url,
    location_of,
    uses_urls,
)
from headrace.common.configuration import Configuration
from headrace.errors import CheckpointError, ConfigurationError
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
from headrace.runners.retention import RemovesCheckpoint, Retention
from headrace.runners.spark.checkpoint.checkpoint import Checkpoint
from headrace.runners.spark.checkpoint.generations import Stages
from headrace.runners.spark.checkpoint.layout import RESTORED, CheckpointFolder
from headrace.runners.spark.checkpoint.metadata import (
    CheckpointMetadata,
    has_checkpoint_error,
    streaming_dataframes,
)
from headrace.runners.spark.cores import cores_of, cores_of_local, known_cores
from headrace.runners.spark.modules import program_data
from headrace.runners.spark.own_package import ship_own_package
from headrace.runners.spark.query.shipped_dependencies import ShippedDependencies
from headrace.runners.spark.query.worker import ProgramRef
from headrace.runners.spark.startup.session import (
    WORKERS_PYTHON,
    chosen_master,
    get_session,
    makes_local_session,
    prepare,
    refuse_connect,
    running_session,
)
from headrace.runners.spark.startup.spark_version import check_pyspark
from headrace.runners.spark.startup.storage import use_storage
from headrace.runners.temporary_files import new_subfolder
from headrace.runtime.layout import Layout, States
from headrace.runtime.program import JobProgram, SinkProgram

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headrace.runners.spark.job import SparkJob


def choose_parallelism(
    configured: int | None, configuration: Configuration, base: str | None, name: str
) -> int:
    """Return the parallelism of a job.

    ``configured``: that of the configuration. ``base``: the folder of checkpoints, unless the job
    is a batch. A job with a checkpoint keeps its parallelism, unless another one is configured than
    before. Otherwise it is the configured one, or the number of cores: on a cluster this starts the
    session, which knows the number.
    """
    settings = options.spark_settings(configuration.to_dict())
    check_pyspark()
    refuse_connect(settings)
    if base is not None and is_url(location_of(base)):
        use_storage(get_session(settings, configured))
    if base is not None and not is_fresh_start(base, name):
        kept = CheckpointMetadata.read(CheckpointFolder.of_job(base, name).store)
        if kept is not None and configured in (None, kept.configured_parallelism):
            return kept.partitions
    if configured is not None:
        return configured
    if makes_local_session(settings):
        return cores_of_local(chosen_master(settings))
    return cores_of(get_session(settings, None))


def is_fresh_start(base: str | None, name: str) -> bool:
    """Return whether a job is to start without the checkpoint that it has.

    A start that a supervisor repeats continues from the checkpoint that it has made itself.
    """
    if os.environ.get(options.FRESH_VARIABLE) != "1":
        return False
    start = os.environ.get(options.START_VARIABLE)
    if base is None or not start:
        return True
    metadata = CheckpointMetadata.read(CheckpointFolder.of_job(base, name).store)
    return metadata is None or metadata.start != start


def running_cores() -> int | None:
    """Return the cores of the session that runs already; None if none does."""
    spark = running_session()
    return None if spark is None else known_cores(spark)


def start_on_spark(
    program: JobProgram,
    delivery: Delivery,
    configuration: Configuration,
    dependencies: Dependencies | None = None,
    listeners: Sequence[JobListener] = (),
    observers: Sequence[JobObserver] = (),
    replan: Callable[[int], JobProgram] | None = None,
) -> SparkJob:
    """Start a job in the active session, or in a new local one.

    ``replan``: plans the job for another parallelism.
    """
    base = None if program.batch else options.read(configuration, options.CHECKPOINT_DIR)
    ignore_unclaimed = options.read(configuration, options.IGNORE_UNCLAIMED_STATE)
    dependencies = dependencies or Dependencies()
    folder = dependencies_folder(dependencies)
    settings = options.spark_settings(configuration.to_dict())
    if dependencies.executable and not is_this_interpreter(dependencies.executable):
        settings[WORKERS_PYTHON] = interpreter_of(dependencies.executable, working_folder(folder))
    parallelism = options.read(configuration, options.PARALLELISM)
    read_states = partial(_read_states, settings, parallelism)
    storage = LOCAL_ONLY
    if base is not None and is_url(location_of(base)):
        storage = use_storage(get_session(settings, parallelism))
    fresh = is_fresh_start(base, program.name)
    restore_path = options.read(configuration, options.RESTORE_PATH)
    if restore_path and base is None:
        base = _temporary_base(get_session(settings, parallelism).sparkContext.master or "")
    if restore_path and base is not None and _must_restore(restore_path, base, program, fresh):
        from headrace.runners.spark.savepoints import Restore, start_from_savepoint
        from headrace.runtime.savepoint.folder import StoredSavepoint

        spark = get_session(settings, parallelism)
        if uses_urls([restore_path]):
            storage = use_storage(spark)
        write_again = options.read(configuration, options.RESTORE_WRITE_AGAIN)
        restore = Restore(StoredSavepoint(restore_path), ignore_unclaimed, write_again, fresh)
        ship_own_package(spark)
        shipped = ShippedDependencies.ship(spark, folder, dependencies.worker_path)
        data = program_data(spark, program, shipped)
        ref = ProgramRef(f"{program.run_id}-restore", data, shipped, storage=storage)
        start_from_savepoint(spark, ref, restore, base, program)
        fresh = False
    checkpoint = Checkpoint.open(
        base,
        program,
        fresh,
        ignore_unclaimed,
        read_states=read_states,
        configured_parallelism=parallelism,
        waits=os.environ.get(options.STANDBY_VARIABLE) == "1",
    )
    try:
        restarted = os.environ.get(options.RESTARTED_VARIABLE)
        if restarted:
            checkpoint.record_restart(True, f"the program {restarted}")
        if checkpoint.finished and any(map(_is_collecting, program.sinks)):
            raise CheckpointError(
                f"the job {program.name!r} has run to its end on this checkpoint:"
                " there is nothing left to collect",
                where={"checkpoint": checkpoint.directory},
                hint='give each collection a name of its own, execute_and_collect("name"), or'
                " start anew (`headrace run --fresh`, or"
                f" {options.FRESH_VARIABLE}=1 in the environment)",
            )
        warning = Layout.of(program).warning()
        if warning and not checkpoint.temporary:
            print(f"headrace: {program.name!r} has operators with {warning}", file=sys.stderr)
        prepare(settings, parallelism)
        # While the JVM starts: these import pyarrow and numpy.
        from headrace.runners.spark.job import SparkJob
        from headrace.runners.spark.older_copy import make_sinks_consistent
        from headrace.runners.spark.query.dataframes import materialize_dataframes
        from headrace.runners.spark.retainer import SavepointSchedule

        spark = get_session(settings, parallelism)
        _check_reachable(program, checkpoint, spark.sparkContext.master or "")
        _print_start(program, checkpoint, spark)
        ship_own_package(spark)
        if storage is LOCAL_ONLY and uses_urls(program.locators):
            storage = use_storage(spark)

        def in_checkpoint() -> JobProgram:
            found = checkpoint.program
            found = replace(found, scope=checkpoint.scope, partitions=checkpoint.partitions)
            if found.batch:
                return found
            return materialize_dataframes(found, checkpoint.directory, checkpoint.started_sources)

        def rescaled(parallelism: int) -> JobProgram:
            assert replan is not None, "a job that cannot be planned again is not rescaled"
            checkpoint.continue_with(replace(replan(parallelism), run_id=program.run_id))
            return in_checkpoint()

        write_again = options.read(configuration, options.RESTORE_WRITE_AGAIN)
        make_sinks_consistent(checkpoint, spark, write_again)
        program = in_checkpoint()
        restarts = restart_strategy(configuration, lambda: random.uniform(-1, 1))
        shipped = ShippedDependencies.ship(spark, folder, dependencies.worker_path)
        return SparkJob(
            spark,
            program,
            checkpoint,
            delivery,
            restarts,
            listeners,
            shipped,
            storage,
            observers,
            options.read(configuration, options.SAVEPOINT_DIR),
            Retention.of(configuration),
            None if program.batch else SavepointSchedule.of(configuration),
            RemovesCheckpoint(options.read(configuration, options.CHECKPOINT_RETENTION)),
            options.read(configuration, options.RESTORE_MODE) == "CLAIM",
            None if replan is None else rescaled,
        )
    except BaseException:
        checkpoint.close()
        raise


def _temporary_base(master: str) -> str:
    """Return a folder for the checkpoint of a job that begins from a savepoint and keeps nothing.

    Raises:
        ConfigurationError: executors on other machines would not reach it.
    """
    if not master.startswith("local"):
        raise ConfigurationError(
            "a job that begins from a savepoint needs a checkpoint that its executors reach",
            where={"master": master},
            hint=f"set {options.CHECKPOINT_DIR.key}",
        )
    return str(new_subfolder("checkpoints-"))


def _must_restore(path: str, base: str, program: JobProgram, fresh: bool) -> bool:
    """Return whether the job begins from a savepoint; False if it has begun from it before.

    Raises:
        CheckpointError: the job has a checkpoint that did not begin from this savepoint.
    """
    folder = CheckpointFolder.of_job(base, program.name)
    metadata = CheckpointMetadata.read(folder.store)
    if metadata is None or fresh:
        return True
    if metadata.restored_from != location_of(path):
        raise has_checkpoint_error(program.name, folder.directory)
    return False


def _check_reachable(program: JobProgram, checkpoint: Checkpoint, master: str) -> None:
    """Raise ConfigurationError if executors on other machines cannot reach the job's state."""
    if not checkpoint.temporary or program.batch or not program.stages:
        return
    if not master.startswith("local"):  # the workers of a local-cluster are on this machine, too
        raise ConfigurationError(
            f"the job {program.name!r} keeps state, and no {options.CHECKPOINT_DIR.key} is set:"
            " a temporary checkpoint is on the driver's machine, where executors cannot reach it",
            where={"master": master},
            hint=f"set {options.CHECKPOINT_DIR.key} to a folder that the driver and all executors"
            " reach under the same path",
        )


def _print_start(program: JobProgram, checkpoint: Checkpoint, spark: SparkSession) -> None:
    """Print where the job runs, and a warning if some of its tasks have no key groups."""
    context = spark.sparkContext
    where = session_text(
        context.master or "", known_cores(spark), program, spark.version, context.uiWebUrl
    )
    print(
        f"headrace: {program.name!r} {where}{_checkpoint_text(program, checkpoint)}",
        file=sys.stderr,
    )
    for warning in (key_groups_warning(program), partitions_warning(program, checkpoint)):
        if warning is not None:
            print(f"headrace: {warning}", file=sys.stderr)


def session_text(
    master: str, cores: int | None, program: JobProgram, version: str, ui: str | None
) -> str:
    """Return where a job runs, and on how many cores."""
    number = program.parallelism
    tasks = _tasks(number)
    share = f"{tasks} at once"
    if cores is not None:
        share = f"{cores} {'core' if cores == 1 else 'cores'}"
        share += f" in {tasks}" if number != cores else ""
    return f"runs on {master} with {share}, Spark {version}{f', {ui}' if ui else ''}"


def _tasks(number: int) -> str:
    return "1 task" if number == 1 else f"{number} tasks"


def _checkpoint_text(program: JobProgram, checkpoint: Checkpoint) -> str:
    if program.batch:
        return ""
    if checkpoint.temporary:
        return f"; its checkpoint is temporary, as no {options.CHECKPOINT_DIR.key} is set"
    origin = checkpoint.generation.origin
    if checkpoint.restored_from and origin is not None and origin.number == RESTORED:
        begins = f"; it begins from the savepoint {checkpoint.restored_from}"
        return f"{begins}, and its checkpoint is {checkpoint.directory}"
    if checkpoint.resumed:
        return f"; it continues from {checkpoint.directory} (headrace run --fresh starts anew)"
    return f"; its checkpoint is {checkpoint.directory}"


def key_groups_warning(program: JobProgram) -> str | None:
    """Return a warning if a keyed stage has fewer key groups than the job has tasks.

    One key group is no mistake: a stream without a key has it, as of ``window_all``.
    """
    keyed = [
        vertex for stage in program.stages for vertex in stage if vertex.keyed and vertex.groups > 1
    ]
    fewest = min(keyed, key=lambda vertex: vertex.groups, default=None)
    if fewest is None or fewest.groups >= program.parallelism:
        return None
    name = fewest.chain.nodes[fewest.id].name
    return (
        f"{name!r} has {fewest.groups} key groups, so of the {program.parallelism} tasks of its"
        f" stage {program.parallelism - fewest.groups} have nothing to do"
        f" ({options.MAX_PARALLELISM.key} sets the number, before the first run)"
    )


def partitions_warning(program: JobProgram, checkpoint: Checkpoint) -> str | None:
    """Return a warning if keyed stages have fewer tasks than the job asks for, and keep them."""
    partitions = checkpoint.partitions
    if program.batch or partitions >= program.parallelism or not streaming_dataframes(program):
        return None
    if not any(vertex.keyed for stage in program.stages for vertex in stage):
        return None
    return (
        f"each keyed stage has {_tasks(partitions)} and not {program.parallelism}: state does not"
        " move in a job that reads a streaming DataFrame, whose position only Spark knows"
    )


def _read_states(
    settings: Mapping[str, str], parallelism: int | None, folder: str, stages: Stages, batch: int
) -> States:
    """Return the state names in a checkpoint, for the error about a missing operator."""
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
