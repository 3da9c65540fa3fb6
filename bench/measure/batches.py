"""What ``map_batches`` costs against a plain loop: ``make bench ARGS=map-batches``.

One process, the local runner, no Spark, the model on one thread. A Parquet file has 20 numbers in
each row. A model of scikit-learn gives each row a score. The plain loop reads the same file in
batches of the same size, calls the same function, and keeps what it returns. Processor time, of
which the least of several turns counts.

scikit-learn is in the environment ``models`` of ``bench.environments``, with what Headrace needs on
its local runner.
"""

from __future__ import annotations

import argparse
import gc
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.measure.probes import several
from bench.throughput import Plan, Row
from headrace.common import Types, WatermarkStrategy
from headrace.datastream import DataStream, StreamExecutionEnvironment
from headrace.datastream.connectors.file_system import FileSource
from headrace.datastream.formats.parquet import ParquetFormat
from headrace.testing import run_pipeline

FEATURES = [f"x{number}" for number in range(20)]
BATCH = 10_000
ROWS = 200_000
COLUMNS = "columns"
POINT = Types.TUPLE([Types.LONG(), *[Types.DOUBLE()] * len(FEATURES)])
SCORE = Types.TUPLE([Types.LONG(), Types.DOUBLE()])


def models() -> dict[str, Any]:
    """Fitted models, the cheapest first."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression

    random = np.random.default_rng(1)
    known = random.normal(size=(5_000, len(FEATURES)))
    labels = (known.sum(axis=1) + random.normal(size=5_000) > 0).astype(int)
    found = {
        "logistic regression": LogisticRegression(),
        "boosted trees": HistGradientBoostingClassifier(max_iter=50),
    }
    for model in found.values():
        model.fit(known, labels)
    return found


def scoring(model: Any) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
    """A function that gives each row of a batch its score."""

    def score(batch: pa.RecordBatch) -> pa.RecordBatch:
        features = np.column_stack([batch[name].to_numpy() for name in FEATURES])
        scores = model.predict_proba(features)[:, 1]
        return pa.RecordBatch.from_arrays([batch["id"], pa.array(scores)], names=["id", "score"])

    return score


def high(batch: pa.RecordBatch) -> pa.RecordBatch:
    """How many rows of a batch have a high score."""
    found = int((batch[1].to_numpy() > 0.9).sum())
    return pa.RecordBatch.from_arrays([pa.array([found])], names=["high"])


def plain(file: Path, score: Any) -> int:
    """The plain loop."""
    batches = pq.ParquetFile(file).iter_batches(BATCH, columns=["id", *FEATURES])
    return sum(high(score(batch))[0][0].as_py() for batch in batches)


def points(file: Path) -> DataStream:
    """The rows of the file, as a stream."""
    env = StreamExecutionEnvironment()
    source = FileSource.for_bulk_file_format(ParquetFormat(), str(file)).build()
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "points")


def ways(file: Path, score: Any) -> dict[str, Callable[[], int]]:
    """Jobs that do what the plain loop does, by what their records are."""

    def columns() -> int:
        scored = points(file).map_batches(score, SCORE, batch_size=BATCH)
        return sum(run_pipeline(scored.map_batches(high, Types.LONG())).only)

    def rows_out() -> int:
        scored = points(file).map_batches(score, SCORE, batch_size=BATCH)
        return sum(value > 0.9 for _, value in run_pipeline(scored).only)

    return {COLUMNS: columns, "every score as a row": rows_out}


def plain_of_rows(rows: list[Any], score: Any) -> int:
    """The plain loop over tuples that lie in memory."""
    total = 0
    for start in range(0, len(rows), BATCH):
        columns = zip(*rows[start : start + BATCH], strict=True)
        batch = pa.RecordBatch.from_arrays([*map(pa.array, columns)], names=["id", *FEATURES])
        total += high(score(batch))[0][0].as_py()
    return total


def job_of_rows(rows: list[Any], score: Any) -> int:
    """The same as a job."""

    def named(batch: pa.RecordBatch) -> pa.RecordBatch:
        return score(batch.rename_columns(["id", *FEATURES]))

    stream = StreamExecutionEnvironment().from_collection(rows)
    scored = stream.map_batches(named, SCORE, batch_size=BATCH, input_type=POINT)
    return sum(run_pipeline(scored.map_batches(high, Types.LONG())).only)


def ratio(work: Callable[[], int], base: Callable[[], int], turns: int) -> tuple[float, float]:
    """The least processor time of each, in turns: of the work in seconds, and by that of the base.

    Seconds of all threads: the machine may have other work to do.
    """
    best = [float("inf"), float("inf")]
    expected = base()
    for _ in range(turns):
        for index, each in enumerate((work, base)):
            gc.collect()
            start = time.process_time()
            found = each()
            best[index] = min(best[index], time.process_time() - start)
            assert found == expected, (found, expected)
    return best[0], best[0] / best[1]


def point(model: str, way: str) -> str:
    """How a model and a way are called in the results."""
    return f"{model}, {way}"


def rows(count: int, turns: int) -> Iterator[Row]:
    """For each model and way to give the rows: how many it does, and its time to the plain loop's.

    A quarter of the rows lie in memory for the way that begins with tuples.
    """
    random = np.random.default_rng(2)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "points.parquet"
        numbers = {name: random.normal(size=count) for name in FEATURES}
        table = pa.table({"id": np.arange(count), **numbers})
        pq.write_table(table, file, row_group_size=100_000)
        few = table.slice(0, count // 4)
        tuples = [*zip(*(column.to_pylist() for column in few.columns), strict=True)]
        for name, model in models().items():
            score = scoring(model)
            from_file = partial(plain, file, score)
            for way, work in ways(file, score).items():
                yield _row(point(name, way), count, *ratio(work, from_file, turns))
            found = ratio(
                partial(job_of_rows, tuples, score), partial(plain_of_rows, tuples, score), turns
            )
            yield _row(point(name, "tuples in memory"), len(tuples), *found)


def _row(at: str, count: int, seconds: float, against: float) -> Row:
    values = {"rows_per_second": round(count / seconds), "time_to_plain_loop": round(against, 3)}
    return {"contender": "headrace-local", "point": at, "values": values}


def measure(plan: Plan) -> list[Row]:
    """The rows, from a process of their own; nothing where Headrace is not wanted."""
    if not plan.takes("headrace-local"):
        return []
    count = max(round(ROWS * plan.scale), 4 * BATCH)
    return several("map-batches", "batches", [f"--rows={count}"], 300, "models")


def main() -> None:
    from threadpoolctl import threadpool_limits

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--turns", type=int, default=3)
    given = parser.parse_args()
    with threadpool_limits(1):
        print(json.dumps({"rows": [*rows(given.rows, given.turns)]}))


if __name__ == "__main__":
    main()
