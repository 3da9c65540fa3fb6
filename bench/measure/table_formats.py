"""How fast tables decode JSON and CSV: ``python -m bench.measure.table_formats``.

One core, decoding alone: in blocks of lines as the file source reads them, and as the values of
Kafka messages. ``mixed`` rows are a number, a text, a price and a timestamp; ``numbers`` are a
number, a key and a value, as those of the other benchmarks. pyarrow alone is the limit of JSON: it
reads the same block into the same columns, but the timestamps remain texts. The figure is the best
of several rounds, in rows per second of processor time. The last line has the figures as JSON.
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

from headrace.sql.rel import Column, Columns
from headrace.sql.types import BIGINT, DOUBLE, STRING, TimestampType, to_arrow
from headrace.table._formats.format import TableFormat
from headrace.table._formats.registry import find_format, format_options, make_format
from headrace.table._options import read_options

ROWS = 13_000
ROUNDS = 20
COLUMNS = {
    "mixed": (
        Column("id", BIGINT),
        Column("name", STRING),
        Column("price", DOUBLE),
        Column("at", TimestampType(3)),
    ),
    "numbers": (Column("i", BIGINT), Column("k", BIGINT), Column("v", BIGINT)),
}


def row_of(shape: str, number: int) -> dict[str, Any]:
    """Return a row as JSON has it."""
    if shape == "numbers":
        return {"i": number, "k": number * 7919 % 10_000, "v": number % 1000}
    return {
        "id": number,
        "name": f"customer {number % 1000}",
        "price": number * 7919 % 100_000 / 100,
        "at": f"2026-11-28 07:{number % 60:02d}:00.{number % 1000:03d}",
    }


def make(name: str, columns: Columns) -> TableFormat:
    """Return a format of the columns."""
    kind = find_format(name)
    options = read_options("t", {}, format_options(kind))
    return make_format(kind, "t", columns, options)


def rate(work: Callable[[], object]) -> float:
    """Return the rows per second of the fastest round."""
    best = float("inf")
    for _ in range(ROUNDS):
        started = time.process_time()
        work()
        best = min(best, time.process_time() - started)
    return ROWS / best


def read_with_pyarrow(block: bytes, columns: Columns) -> Any:
    """Read a block as JSON, with the timestamps as texts."""
    kinds = [
        pa.string() if isinstance(each.type, TimestampType) else to_arrow(each.type)
        for each in columns
    ]
    schema = pa.schema([*zip((each.name for each in columns), kinds, strict=True)])
    return pyarrow_json.read_json(
        pa.BufferReader(block),
        pyarrow_json.ReadOptions(use_threads=False, block_size=len(block) + 1),
        pyarrow_json.ParseOptions(schema, False, "ignore"),
    )


def rates() -> Iterator[tuple[str, float]]:
    """Return the format, the rows and what is done, with the rate."""
    for shape, columns in COLUMNS.items():
        rows = [row_of(shape, number) for number in range(ROWS)]
        json_lines = [json.dumps(row).encode() for row in rows]
        csv_lines = [",".join(map(str, row.values())).encode() for row in rows]
        block = b"\n".join(json_lines) + b"\n"
        yield f"json_{shape}_pyarrow_alone", rate(partial(read_with_pyarrow, block, columns))
        for name, lines in (("json", json_lines), ("csv", csv_lines)):
            made = make(name, columns)
            values = [column.to_pylist() for column in made.decode(lines).batch.columns]
            block = b"\n".join(lines) + b"\n"
            yield f"{name}_{shape}_lines", rate(partial(made.decode_lines, block))
            yield f"{name}_{shape}_messages", rate(partial(made.decode, lines))
            yield f"{name}_{shape}_encoding", rate(partial(made.encode, values, None))


def main() -> None:
    """Print the rates."""
    argparse.ArgumentParser(description=__doc__).parse_known_args()
    values = {}
    for name, found in rates():
        print(f"{name:28}{found:12,.0f}")
        values[f"{name}_per_second"] = found
    print(json.dumps(values))


if __name__ == "__main__":
    main()
