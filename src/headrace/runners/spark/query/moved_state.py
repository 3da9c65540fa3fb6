"""State on its way from an older generation of Spark's folder into the job's stages."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from pyspark.sql import DataFrame, GroupedData, SparkSession
from pyspark.sql import functions as F

from headrace.runners.spark.checkpoint.generations import Origin
from headrace.runtime.program import VertexProgram

Claims = Mapping[int, frozenset[str]]
"""By the stage where state lies, the ids of the vertices whose state is taken from there."""


def claims(origin: Origin, stage: tuple[VertexProgram, ...]) -> Claims:
    """What the vertices of a stage take over, and from where."""
    wanted = {vertex.id for vertex in stage}
    if origin.batch < 0:
        return {}
    found = {number: wanted & {*ids} for number, ids in enumerate(origin.stages, 1)}
    return {number: frozenset(ids) for number, ids in found.items() if ids}


def pages(spark: SparkSession, folder: str, origin: Origin, claimed: Claims) -> GroupedData:
    """The records of stages in Spark's folder, by bucket: ``bucket, stage, name, data``."""
    return reduce(
        DataFrame.unionAll, (_stage(spark, folder, origin, stage) for stage in claimed)
    ).groupBy("bucket")


def _stage(spark: SparkSession, folder: str, origin: Origin, stage: int) -> DataFrame:
    reader = spark.read.format("statestore").option("path", folder)
    # Spark counts a query's operators from its sink.
    reader = reader.option("operatorId", len(origin.stages) - stage)
    reader = reader.option("stateVarName", "pages").option("batchId", origin.batch)
    return reader.load().select(
        F.col("key.bucket").alias("bucket"),
        F.lit(stage).alias("stage"),
        F.col("user_map_key.name").alias("name"),
        F.col("user_map_value.data").alias("data"),
    )
