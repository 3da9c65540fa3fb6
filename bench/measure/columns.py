"""What an exchange by key costs with columns and with rows: ``python -m bench.measure.columns``.

One core, no Spark. Records of a key, a number and a time go to 128 key groups on two partitions:
key groups, one sort, packets, and read again to the blocks of each group. Rows are tuples of the
same values. The figure is the best of several rounds, in records per second of processor time.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable
from dataclasses import replace
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa

from headrace.metrics.metricbase import MetricGroup
from headrace.planner.columns import with_columns
from headrace.runners.spark.query.packets import MemoryContent, envelopes_in, payload_of
from headrace.runners.spark.query.wire import pack
from headrace.runtime.block import records_of
from headrace.runtime.chain.chain import Chain
from headrace.runtime.columns.batch import Columns
from headrace.runtime.columns.selectors import ByColumns
from headrace.runtime.context import TaskInfo
from headrace.runtime.operator import KeyedOperator, Link, NodeProgram, OperatorSpec, Traits
from headrace.runtime.program import (
    ChainProgram,
    ExchangeProgram,
    JobProgram,
    Settings,
    SourceProgram,
    VertexProgram,
)
from headrace.runtime.user_function import UserFunction

GROUPS, PARTITIONS, KEYS = 128, 2, 10_000
SIZES = (10_000, 32_000, 100_000, 400_000)
RECORDS = 800_000


class _Takes(OperatorSpec):
    """Stands for an operator that takes columns."""

    traits = Traits(keyed=True, takes_columns=True)
    kind = "takes"
    label = "Takes"

    def build(self) -> KeyedOperator:
        raise NotImplementedError


def chain_by(selector: Any) -> Chain:
    """A source's chain of one exchange by key."""
    head = NodeProgram("after", "after", None, "", _Takes(), ())
    vertex = VertexProgram("after", 1, True, GROUPS, 1, ChainProgram("after", {"after": head}, ()))
    exchange = ExchangeProgram(
        *("exchange", "after", 1, "key", GROUPS, "HASH", "source", ""), UserFunction(selector)
    )
    root = NodeProgram("source", "source", None, "", None, (Link("exchange", "exchange"),))
    program = ChainProgram("source", {"source": root}, (exchange,))
    source = SourceProgram("source", "source", None, None, None, program, 1)
    job = JobProgram("columns", "", (source,), ((vertex,),), (), Settings(), 1)
    job = with_columns(replace(job, partitions=PARTITIONS))
    chain = Chain(job.sources[0].chain, job, TaskInfo(), MetricGroup(), merged_marks=False)
    chain.begin(0, 0)
    return chain


def batch(records: int, texts: bool) -> Any:
    """Columns of so many records, their keys drawn from 10,000."""
    numbers = np.random.default_rng(7).integers(0, KEYS, records)
    keys = pa.array([f"user-{number}" for number in numbers]) if texts else pa.array(numbers)
    amounts = np.arange(records)
    return pa.record_batch({"key": keys, "amount": amounts, "at": amounts})


def through_the_wire(chain: Chain, read: Callable[[Any], Any]) -> None:
    """What was gathered is packed, unpacked, and its blocks are made."""
    for row in pack(chain.drain(), PARTITIONS):
        for envelope in envelopes_in(MemoryContent(row.payload), row.stage):
            read(payload_of(envelope))


def records_per_second(size: int, work: Callable[[], None], rounds: int) -> float:
    """The best of several rounds; each does the work until 800,000 records went through."""
    best = 0.0
    for _ in range(rounds):
        gc.collect()
        times = max(RECORDS // size, 1)
        start = time.process_time()
        for _ in range(times):
            work()
        best = max(best, times * size / (time.process_time() - start))
    return best


def measure(size: int, texts: bool, rounds: int) -> tuple[float, float, float]:
    """Records per second: columns, columns made rows at the end, rows."""
    found = batch(size, texts)
    columns, chain = Columns(found), chain_by(ByColumns("key"))
    assert chain.push_columns is not None
    push_columns = chain.push_columns
    rows = [*zip(*(column.to_pylist() for column in found.columns), strict=True)]
    with_rows = chain_by(itemgetter(0))

    def by_columns(read: Callable[[Any], Any]) -> None:
        push_columns(columns)
        through_the_wire(chain, read)

    def by_rows() -> None:
        with_rows.push_all(rows, None)
        through_the_wire(with_rows, records_of)

    return (
        records_per_second(size, lambda: by_columns(lambda block: block.values), rounds),
        records_per_second(size, lambda: by_columns(records_of), rounds),
        records_per_second(size, by_rows, rounds),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    print("| keys | records a block | columns | columns, read as rows | rows |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for texts in (False, True):
        for size in SIZES:
            found = measure(size, texts, rounds)
            cells = " | ".join(f"{each / 1e6:.1f}M/s" for each in found)
            print(f"| {'texts' if texts else 'numbers'} | {size:,} | {cells} |")


if __name__ == "__main__":
    main()
