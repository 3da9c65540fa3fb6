"""A job as one DataFrame of packets: sources, then a transformation per keyed stage."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, GroupedData, SparkSession

from headrace.runners.spark.checkpoint.generations import Generation
from headrace.runners.spark.checkpoint.layout import CheckpointFolder
from headrace.runners.spark.query.dataframes import union_dataframes
from headrace.runners.spark.query.keyed_stage import BatchStage, StageProcessor
from headrace.runners.spark.query.moved_state import (
    REDISTRIBUTED,
    ClaimedState,
    claimed_state,
    redistributed_state,
    rescaled_vertices,
    state_records,
)
from headrace.runners.spark.query.plan_names import stage_name, state_udf_named
from headrace.runners.spark.query.read_counts import observe_sources
from headrace.runners.spark.query.source import FORMAT
from headrace.runners.spark.query.wire import WIRE_DDL
from headrace.runners.spark.query.worker import ProgramRef
from headrace.runtime.program import JobProgram


def streaming_frame(
    spark: SparkSession,
    program: JobProgram,
    ref: ProgramRef,
    plan: str,
    checkpoint_folder: CheckpointFolder,
    generation: Generation,
    dataframes: Sequence[str],
) -> DataFrame:
    """Return the packets for the sinks of a streaming job. ``plan``: the path of a ``PlanFolder``.

    Stages start with the state of an older generation, if ``generation`` has an origin.
    ``dataframes``: the ids of streaming DataFrames in the order that the query must keep.
    """
    frame = spark.readStream.format(FORMAT).option("plan", plan).load()
    frame = observe_sources(frame, program)
    frame = union_dataframes(frame, program, ref, dataframes)
    if program.is_one_task:
        frame = frame.coalesce(1)
    for number in range(1, len(program.stages) + 1):
        claimed, moved = _initial_state(spark, program, number, checkpoint_folder, generation)
        with state_udf_named(stage_name(program, number)):
            frame = frame.groupBy("bucket").transformWithStateInPandas(
                statefulProcessor=StageProcessor(ref, number, program.partitions, claimed),
                outputStructType=WIRE_DDL,
                outputMode="Append",
                timeMode="None",
                initialState=moved,
            )
    return frame


def batch_frame(spark: SparkSession, program: JobProgram, ref: ProgramRef, plan: str) -> DataFrame:
    """Return the packets for the sinks of a batch job. ``plan``: the path of a ``PlanFolder``."""
    frame: DataFrame = spark.read.format(FORMAT).option("plan", plan).load()
    frame = union_dataframes(frame, program, ref)
    for number in range(1, len(program.stages) + 1):
        frame = (
            frame.repartition(program.partitions, "bucket")
            .sortWithinPartitions("key_group", "sender", "seq")
            .mapInArrow(BatchStage(ref, number, stage_name(program, number)), WIRE_DDL)
        )
    return frame


def _initial_state(
    spark: SparkSession,
    program: JobProgram,
    stage: int,
    checkpoint_folder: CheckpointFolder,
    generation: Generation,
) -> tuple[ClaimedState, GroupedData | None]:
    """Return the state that a stage takes over from an older generation, and its claims on it."""
    origin = generation.origin
    claimed = {} if origin is None else claimed_state(origin, program.stages[stage - 1])
    if origin is None:
        return {}, None
    folder, rescaled = (
        checkpoint_folder.spark(origin.number),
        rescaled_vertices(origin, program.stages[stage - 1]),
    )
    redistributed = (
        [redistributed_state(spark, folder, origin, program, rescaled)] if rescaled else []
    )
    if rescaled:
        claimed = {**claimed, REDISTRIBUTED: frozenset(vertex.id for vertex in rescaled)}
    if not claimed:
        return {}, None
    records = state_records(spark, folder, origin, claimed, program.partitions, redistributed)
    return claimed, records
