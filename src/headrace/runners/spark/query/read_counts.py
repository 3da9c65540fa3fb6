"""The number of records that each source has read, in the progress of Spark's query.

Spark counts the rows of a source, but these rows are packets. So each source task writes its counts
of records into columns of its last packets, and the query observes the sums of these columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headrace.metrics._merging import MetricId, MetricValue
from headrace.metrics._operator_counts import RECORDS_IN
from headrace.runners.spark.query.packets import make_packet
from headrace.runners.spark.query.plan_names import source_labels, sources_name, sources_of_headrace
from headrace.runners.spark.query.wire import Row
from headrace.runtime.program import JobProgram


def records_read(program: JobProgram, metrics: Mapping[MetricId, MetricValue]) -> dict[int, int]:
    """Return how many records a task has read, by the number of the source."""
    numbers = {source.id: source.number for source in program.sources}
    return {
        numbers[key.operator]: int(entry.value)
        for key, entry in metrics.items()
        if key.metric == RECORDS_IN and key.operator in numbers
    }


def with_counts(rows: Iterator[Row], counts: Mapping[int, int]) -> Iterator[Row]:
    """Yield the rows of a source task, and with the last ones its ``counts`` by source number.

    ``counts`` is read after the last row. The source's number is in column ``sender``, its count in
    ``seq``. Each additional source gets an additional row, with a packet without envelopes.
    """
    last: Row | None = None
    for row in rows:
        if last is not None:
            yield last
        last = row
    if last is None:
        return
    carrier = last
    for number, count in counts.items():
        yield carrier._replace(sender=number, seq=count)
        carrier = last._replace(key_group=0, payload=make_packet([]))
    if not counts:
        yield last


def is_shown(spark: SparkSession) -> bool:
    """Return whether somebody can see Spark's queries: on its page, or with a query listener."""
    has_ui = spark.sparkContext.uiWebUrl is not None
    return has_ui or len(spark.streams._jsqm.listListeners()) > 0


def observe_sources(frame: DataFrame, program: JobProgram) -> DataFrame:
    """Have Spark observe how many records each source has read in a micro-batch.

    The observation has the name of ``sources_name``, and one metric per source. It adds about 3 ms
    of planning to each micro-batch, so it is left out if nobody can see it (``is_shown``).
    """
    ours = sources_of_headrace(program)
    if not ours or not is_shown(frame.sparkSession):
        return frame
    labels = source_labels(program)
    sums = [
        F.coalesce(F.sum(F.when(F.col("sender") == each.number, F.col("seq"))), F.lit(0)).alias(
            labels[each.id]
        )
        for each in ours
    ]
    return frame.observe(sources_name(ours), *sums)
