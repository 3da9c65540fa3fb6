"""How fast tables decode JSON and CSV: ``python -m bench.measure.table_formats``.

One core, decoding alone: lines of a number, a text, a price and a timestamp, in blocks as the file
source reads them, and as the values of Kafka messages. pyarrow alone is the limit of JSON: it reads
the same block into the same columns, but the timestamps remain texts. The figure is the best of
several rounds, in rows per second of processor time. The last line has the figures as JSON.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pyarrow as pa
from pyarrow import json as pyarrow_json

from headrace.sql.rel import Column
from headrace.sql.types import BIGINT, DOUBLE, STRING, TimestampType
from headrace.table._formats.format import TableFormat
from headrace.table._formats.registry import find_format, format_options, make_format
from headrace.table._options import read_options

ROWS = 13_000
ROUNDS = 20
COLUMNS = (
    Column("id", BIGINT),
    Column("name", STRING),
    Column("price", DOUBLE),
    Column("at", TimestampType(3)),
)


def rows() -> list[dict[str, Any]]:
    """Return rows as JSON has them."""
    return [
        {
            "id": number,
            "name": f"customer {number % 1000}",
            "price": number * 7919 % 100_000 / 100,
            "at": f"2026-11-28 07:{number % 60:02d}:00.{number % 1000:03d}",
        }
        for number in range(ROWS)
    ]


def make(name: str) -> TableFormat:
    """Return a format of the columns."""
    kind = find_format(name)
    options = read_options("t", {}, format_options(kind))
    return make_format(kind, "t", COLUMNS, options)


def rate(work: Callable[[], object]) -> float:
    """Return the rows per second of the fastest round."""
    best = float("inf")
    for _ in range(ROUNDS):
        started = time.process_time()
        work()
        best = min(best, time.process_time() - started)
    return ROWS / best


def read_with_pyarrow(block: bytes) -> Any:
    """Read a block as JSON, with the timestamps as texts."""
    schema = pa.schema(
        [("id", pa.int64()), ("name", pa.string()), ("price", pa.float64()), ("at", pa.string())]
    )
    return pyarrow_json.read_json(
        pa.BufferReader(block),
        pyarrow_json.ReadOptions(use_threads=False, block_size=len(block) + 1),
        pyarrow_json.ParseOptions(schema, False, "ignore"),
    )


def rates() -> Iterator[tuple[str, str, float]]:
    """Return formats, what is done, and the rates."""
    found = rows()
    json_lines = [json.dumps(row).encode() for row in found]
    csv_lines = [",".join(map(str, row.values())).encode() for row in found]
    block = b"\n".join(json_lines) + b"\n"
    yield "json", "pyarrow alone", rate(partial(read_with_pyarrow, block))
    for name, lines in (("json", json_lines), ("csv", csv_lines)):
        made = make(name)
        columns = [column.to_pylist() for column in made.decode(lines).batch.columns]
        yield name, "lines", rate(partial(made.decode_lines, b"\n".join(lines) + b"\n"))
        yield name, "messages", rate(partial(made.decode, lines))
        yield name, "encoding", rate(partial(made.encode, columns, None))


def main() -> None:
    """Print the rates."""
    argparse.ArgumentParser(description=__doc__).parse_known_args()
    values = {}
    for name, what, found in rates():
        print(f"{name:6}{what:16}{found:12,.0f}")
        values[f"{name}_{what.replace(' ', '_')}_per_second"] = found
    print(json.dumps(values))


if __name__ == "__main__":
    main()
