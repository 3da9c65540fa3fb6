"""What Avro costs beside fastavro's own loop: ``make bench ARGS=avro``.

Messages of 12 fields, one process, processor time, of which the least of several turns counts.
The own loop calls ``schemaless_writer`` and ``schemaless_reader`` for each message, no more.
Wanted: at least 200,000 records a second, or what the own loop does, whichever is less. "With
header" is Confluent's, whose id has been asked for before.
"""

from __future__ import annotations

import argparse
import io
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, make_dataclass
from typing import Any
from unittest import mock

import fastavro

from bench.measure.probes import several
from bench.throughput import Plan
from bench.throughput import Row as Found
from headrace.common.types import Row
from headrace.datastream.formats._registry import client as registry_client
from headrace.datastream.formats._registry.client import RegisteredText
from headrace.datastream.formats.avro import (
    AvroDeserializationSchema,
    AvroSchema,
    AvroSerializationSchema,
)
from headrace.datastream.formats.registry import SchemaRegistry

WANTED = 200_000
RECORDS = 50_000
WRITE, READ, READ_OTHER = "write", "read", "read another schema"
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


@dataclass(frozen=True)
class Way:
    """Something that is done with each of some values; ``own`` names the loop beside it."""

    name: str
    own: str
    function: Callable[[Any], Any]
    values: Sequence[Any]


@dataclass(frozen=True)
class Known:
    """Stands for a registry's client that has been asked before."""

    schema_text: str

    def identifier(self, *given: Any) -> int:
        """The id of the schema."""
        return 1

    def schema(self, identifier: int) -> RegisteredText:
        """The schema of every id."""
        return RegisteredText(self.schema_text, "AVRO")


def ways(count: int) -> Iterator[Way]:
    """What is measured; the own loop comes before what is beside it."""
    avro, newer, registry = schema(), schema(added=3), SchemaRegistry("http://registry")
    parsed, parsed_newer = (fastavro.parse_schema(json.loads(s.text)) for s in (avro, newer))
    order = make_dataclass("Order", [(name, object) for name, _ in FIELDS])
    dicts = records(count)
    objects, rows = [order(**held) for held in dicts], [Row(**held) for held in dicts]
    plain = AvroSerializationSchema(avro)
    headed = AvroSerializationSchema(avro, registry, "orders-value")

    def own_write(value: Any) -> bytes:
        out = io.BytesIO()
        fastavro.schemaless_writer(out, parsed, value)
        return out.getvalue()

    def own_read(data: bytes) -> Any:
        return fastavro.schemaless_reader(io.BytesIO(data), parsed, None)

    def own_read_newer(data: bytes) -> Any:
        return fastavro.schemaless_reader(io.BytesIO(data), parsed, parsed_newer)

    messages = [own_write(value) for value in dicts]
    with mock.patch.dict(registry_client._clients, {registry: Known(avro.text)}):  # type: ignore[dict-item]
        with_header = [headed.serialize(value) for value in dicts]
        yield Way(WRITE, WRITE, own_write, dicts)
        for name, made in ((WRITE, plain), (f"{WRITE} with header", headed)):
            for form, values in (("dicts", dicts), ("dataclasses", objects), ("rows", rows)):
                assert made.serialize(values[-1])[-len(messages[-1]) :] == messages[-1]
                yield Way(f"{name}, {form}", WRITE, made.serialize, values)
        yield Way(READ, READ, own_read, messages)
        for into in (dict, order, Row):
            form = {dict: "dicts", Row: "rows"}.get(into, "dataclasses")
            bare = AvroDeserializationSchema(avro, into)
            yield Way(f"{READ}, {form}", READ, bare.deserialize, messages)
            named = AvroDeserializationSchema(avro, into, registry)
            assert named.deserialize(with_header[-1]) == bare.deserialize(messages[-1])
            yield Way(f"{READ} with header, {form}", READ, named.deserialize, with_header)
        yield Way(READ_OTHER, READ_OTHER, own_read_newer, messages)
        other = AvroDeserializationSchema(newer, order, writer_schema=avro)
        yield Way(f"{READ_OTHER}, dataclasses", READ_OTHER, other.deserialize, messages)


def rates(found: Sequence[Way], turns: int) -> dict[str, float]:
    """How many records a second each way does, in the best of its turns."""
    best = dict.fromkeys((way.name for way in found), float("inf"))
    for _ in range(turns):
        for way in found:
            function, start = way.function, time.process_time()
            for value in way.values:
                function(value)
            best[way.name] = min(best[way.name], time.process_time() - start)
    return {way.name: len(way.values) / best[way.name] for way in found}


def rows_of(count: int, turns: int) -> list[Found]:
    """For each way its rate, to that of the own loop, and to what is wanted."""
    found = [*ways(count)]
    taken = rates(found, turns)
    return [
        {
            "contender": "fastavro" if way.name == way.own else "headrace-local",
            "point": way.name,
            "values": {
                "records_per_second": round(taken[way.name]),
                "to_own_loop": round(taken[way.name] / taken[way.own], 3),
                "to_wanted": round(taken[way.name] / min(WANTED, taken[way.own]), 3),
            },
        }
        for way in found
    ]


def measure(plan: Plan) -> list[Found]:
    """The rows, from a process of their own; nothing where Headrace is not wanted."""
    if not plan.takes("headrace-local"):
        return []
    return several("avro", "avro", [f"--records={max(round(RECORDS * plan.scale), 1_000)}"], 300)


def main() -> None:
    """Measure, and print all rows as one line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--records", type=int, default=RECORDS)
    parser.add_argument("--turns", type=int, default=5)
    given = parser.parse_args()
    print(json.dumps({"rows": rows_of(given.records, given.turns)}))


if __name__ == "__main__":
    main()
