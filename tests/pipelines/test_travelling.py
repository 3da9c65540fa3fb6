"""Programs drawn by a seed give what they give with columns turned off: records, types and counts.

A program that fails must fail either way. Half of the programs send their blocks as bytes, as they
go on Spark; some change between columns and rows at every restart.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from headrace.common.types import Row
from headrace.operators import reduce
from headrace.runners.local import LocalRun
from headrace.runners.spark.query.packets import (
    MemoryContent,
    envelopes_in,
    make_packet,
    payload_of,
)
from headrace.runtime.block import Envelope, Kind
from headrace.testing import PipelineResults, run_pipeline

from .travelling import Builder

FAST = range(2, 7)
LONG = 40
"""So many programs are one case of the long run."""


def how_to_run(chance: random.Random) -> dict[str, Any]:
    """Cuts, spread, backend and restarts."""
    spread = {"key_groups": chance.randint(1, 5), "parallelism": chance.randint(1, 3)}
    if chance.random() < 0.25:
        return {"mode": "batch", **(spread if chance.random() < 0.6 else {})}
    how: dict[str, Any] = {"cuts": [chance.randint(1, 60) for _ in range(chance.randint(0, 8))]}
    if chance.random() < 0.7:
        how |= spread
    kept = chance.choice(["heap", "paged", "restarts", "savepoint"])
    if kept in ("paged", "restarts"):
        how |= {"backends": "paged", "restarts": kept == "restarts"}
    elif kept == "savepoint":
        how["restarts"] = "savepoint"
    return how


def sent_as_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every block of a local run goes through a packet."""
    route = LocalRun._route_envelopes

    def routed(self: LocalRun, envelopes: Iterator[Envelope], *rest: Any) -> None:
        by_stage: dict[int, list[Envelope]] = {}
        others = []
        for each in envelopes:
            if each.kind == Kind.DATA:
                by_stage.setdefault(each.stage, []).append(each)
            else:
                others.append(each)
        for stage, sent in by_stage.items():
            came = [*envelopes_in(MemoryContent(make_packet(sent)), stage)]
            assert len(came) == len(sent)
            others += [each._replace(payload=payload_of(each)) for each in came]
        route(self, iter(others), *rest)

    monkeypatch.setattr(LocalRun, "_route_envelopes", routed)


def plain(value: Any, strict: bool) -> Any:
    """A value with its type; not ``strict``: equal numbers are one, as the first of them counts."""
    if isinstance(value, Row):
        fields = [plain(each, strict) for each in value._values]
        return "Row", value.get_row_kind().name, (*(value._names() or ()),), (*fields,)
    if isinstance(value, dict):
        return "dict", tuple((name, plain(each, strict)) for name, each in value.items())
    if isinstance(value, list | tuple):
        return type(value).__name__, tuple(plain(each, strict) for each in value)
    if not strict and isinstance(value, int | float) and abs(value) < 1 << 50:
        return "number", repr(float(value))
    return type(value).__name__, repr(value)


def counts(found: PipelineResults) -> list[tuple[str, int, int]]:
    """Of each operator what came and what went, but for what combiners make of it."""
    operators = found.batches[-1].total_operators
    combined = any("Combine" in each.name for each in operators)
    return [
        (each.name, each.records_in, each.records_out)
        for each in operators
        if not combined or each.operator_id.startswith("collect-")
    ]


def late(found: PipelineResults) -> dict[str, Any]:
    return {name: count for name, count in found.counters.items() if "numLate" in name}


def outcome(seed: int, columns: bool, how: dict[str, Any]) -> Any:
    one_group = "key_groups" not in how
    builder = Builder(seed, columns, one_group)
    program = builder.program()
    if columns and how.get("restarts") and seed % 4 < 2:
        how = {**how, "successors": [Builder(seed, False, one_group).program()]}
    try:
        found = run_pipeline(program, **how)
    except (TypeError, ValueError, KeyError, ArithmeticError) as error:
        return type(error)  # of several that are wrong, another record may be the first
    strict = builder.in_order
    records = {
        name: Counter(plain(each, strict) for each in came) for name, came in found.streams.items()
    }
    return records, counts(found), late(found)


def check(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    how = how_to_run(random.Random(seed))
    with monkeypatch.context() as patch:
        patch.setattr(reduce, "MIN_COLUMN_RECORDS", 1 if seed % 3 else 96)
        if seed % 2:
            sent_as_bytes(patch)
        found = outcome(seed, True, how)
    wanted = outcome(seed, False, how)
    if isinstance(wanted, type) and isinstance(found, type):
        return
    assert found == wanted, f"seed {seed}, {how}: {Builder(seed, True, 'key_groups' not in how)}"


@pytest.mark.parametrize("seed", FAST)
def test_columns_change_nothing(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    check(seed, monkeypatch)


@pytest.mark.proof
@pytest.mark.parametrize("first", range(1000, 3000, LONG))
def test_columns_change_nothing_in_many_programs(
    first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(first, first + LONG):
        check(seed, monkeypatch)
