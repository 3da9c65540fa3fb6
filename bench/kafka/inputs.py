"""What is in the topics, and what a job must make of it.

``stateless``, and in SQL ``sql``: the orders of job (d); half of them go on, as id, symbol and
notional. ``count``: the records of job (a); a record in a hundred goes on with its key's count and
sum. The records of a key are in one partition, so that a key's sums do not depend on who reads what
when.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any
from zlib import crc32

from bench import workload
from bench.contenders import FEW_KEYS

STATELESS, COUNT, SQL = "stateless", "count", "sql"
PARTITIONS = 4
Message = tuple[bytes | None, bytes]
"""Key and value."""


@dataclass(frozen=True)
class Digest:
    """How many records, and the sum of their checksums: of any order, and spelled in any way."""

    count: int
    checksums: int


def digest(records: Iterable[dict[str, Any]]) -> Digest:
    """The digest of records."""
    count = checksums = 0
    for record in records:
        count += 1
        checksums += crc32(json.dumps(record, sort_keys=True).encode())
    return Digest(count, checksums)


def messages(job: str, records: int) -> Iterator[Message]:
    """What is in the topic."""
    if job != COUNT:
        for line in workload.json_lines(records):
            yield None, line.rstrip().encode()
        return
    make = workload.record_function(FEW_KEYS)
    for key, value, time_ms in map(make, range(records)):
        yield b"%d" % key, b'{"key": %d, "value": %d, "time": %d}' % (key, value, time_ms)


@cache
def wanted(job: str, records: int) -> Digest:
    """What must come out."""
    found = (json.loads(value) for _, value in messages(job, records))
    return digest(_counts(found) if job == COUNT else _summaries(found))


def summary(order: dict[str, Any]) -> dict[str, Any]:
    """What the stateless job gives out."""
    notional = order["price"] * order["quantity"]
    return {"id": order["id"], "symbol": order["symbol"], "notional": notional}


def _summaries(orders: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    return (summary(order) for order in orders if workload.wanted(order))


def _counts(records: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    state: dict[int, tuple[int, int]] = {}
    for record in records:
        key = record["key"]
        count, total = state.get(key, (0, 0))
        state[key] = count, total = count + 1, total + record["value"]
        if (key + count) % workload.OUTPUT_EVERY == 0:
            yield {"key": key, "count": count, "total": total}
