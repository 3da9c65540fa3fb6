"""What Avro costs beside fastavro's own loop: ``python -m bench.measure.avro``.

Messages of 12 fields, one process, processor time, of which the least of several turns counts.
The own loop calls ``schemaless_writer`` and ``schemaless_reader`` for each message, no more.
Wanted: at least 200,000 records a second, or what the own loop does, whichever is less.
"""

from __future__ import annotations

import argparse
import io
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import make_dataclass
from typing import Any

import fastavro

from headrace.common.types import Row
from headrace.datastream.formats.avro import (
    AvroDeserializationSchema,
    AvroSchema,
    AvroSerializationSchema,
)

WANTED = 200_000
FIELDS: list[tuple[str, Any]] = [
    ("id", "long"),
    ("symbol", "string"),
    ("side", {"type": "enum", "name": "Side", "symbols": ["BUY", "SELL"]}),
    ("price", "double"),
    ("quantity", "int"),
    ("sent", "long"),
    ("venue", "string"),
    ("account", ["null", "string"]),
    ("live", "boolean"),
    ("fee", "double"),
    ("root", "string"),
    ("hop", "int"),
]


def schema(**added: Any) -> AvroSchema:
    """The schema, with further fields and their defaults."""
    fields = [{"name": name, "type": kind} for name, kind in FIELDS]
    more = [{"name": name, "type": "int", "default": held} for name, held in added.items()]
    return AvroSchema({"type": "record", "name": "Order", "fields": [*fields, *more]})


def records(count: int) -> list[dict[str, Any]]:
    """Records to write."""
    return [
        {
            "id": number,
            "symbol": f"S{number % 97}",
            "side": ("BUY", "SELL")[number % 2],
            "price": number / 7,
            "quantity": number % 1000,
            "sent": 1_700_000_000_000 + number,
            "venue": "alpha",
            "account": None if number % 3 else f"a{number % 50}",
            "live": number % 5 == 0,
            "fee": 0.1,
            "root": f"r{number // 4}",
            "hop": number % 4,
        }
        for number in range(count)
    ]


def rate(function: Callable[[Any], Any], values: Sequence[Any], turns: int) -> float:
    """How many a second, in the best of the turns."""
    best = float("inf")
    for _ in range(turns):
        start = time.process_time()
        for value in values:
            function(value)
        best = min(best, time.process_time() - start)
    return len(values) / best


def measure(count: int, turns: int) -> dict[str, float]:
    """Records a second, by what is done."""
    avro, newer = schema(), schema(added=3)
    parsed, parsed_newer = (fastavro.parse_schema(json.loads(s.text)) for s in (avro, newer))
    order = make_dataclass("Order", [(name, object) for name, _ in FIELDS])
    values = records(count)
    write = AvroSerializationSchema(avro)
    messages = [write.serialize(value) for value in values]

    def own_write(value: Any) -> bytes:
        out = io.BytesIO()
        fastavro.schemaless_writer(out, parsed, value)
        return out.getvalue()

    def own_read(data: bytes) -> Any:
        return fastavro.schemaless_reader(io.BytesIO(data), parsed, None)

    def own_read_newer(data: bytes) -> Any:
        return fastavro.schemaless_reader(io.BytesIO(data), parsed, parsed_newer)

    assert own_write(values[0]) == messages[0]
    found = {
        "write, fastavro's own loop": rate(own_write, values, turns),
        "write dicts": rate(write.serialize, values, turns),
        "write dataclasses": rate(write.serialize, [order(**v) for v in values], turns),
        "read, fastavro's own loop": rate(own_read, messages, turns),
        "read another schema, fastavro's own loop": rate(own_read_newer, messages, turns),
    }
    for name, made in {
        "read dicts": AvroDeserializationSchema(avro),
        "read rows": AvroDeserializationSchema(avro, Row),
        "read dataclasses": AvroDeserializationSchema(avro, order),
        "read another schema, dicts": AvroDeserializationSchema(newer, writer_schema=avro),
    }.items():
        found[name] = rate(made.deserialize, messages, turns)
    return found


def main() -> None:
    """Measure, and print a line each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=50_000)
    parser.add_argument("--turns", type=int, default=5)
    given = parser.parse_args()
    found = measure(given.records, given.turns)
    for name, each in found.items():
        print(f"{name:<45} {each:>9,.0f} records/s")
    for what in ("write", "read"):
        least = min(WANTED, found[f"{what}, fastavro's own loop"])
        held = found[f"{what} dicts"] >= least
        print(f"{what}: wanted {least:,.0f}: {'held' if held else 'MISSED'}")


if __name__ == "__main__":
    main()
