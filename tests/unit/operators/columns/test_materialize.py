"""The last of several rows with one primary key."""

from __future__ import annotations

from typing import Literal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.common.types import RowKind, row_of
from headrace.operators.columns.materialize import UpsertMaterializerSpec
from headrace.testing import KeyedHarness
from tests.effort import examples

SCHEMA = pa.schema([("k", pa.string()), ("n", pa.int64())])
KINDS = {each.sign: each for each in RowKind}
Change = tuple[str, str, int]


def upserts(
    given: list[Change],
    key: tuple[str, ...] | None = ("k",),
    backend: Literal["heap", "paged"] = "heap",
) -> list[Change]:
    spec = UpsertMaterializerSpec(SCHEMA, key)
    with KeyedHarness(spec, lambda each: each.n, backend=backend) as harness:
        for kind, k, n in given:
            row = row_of(("k", "n"), [k, n])
            row.set_row_kind(KINDS[kind])
            harness.process(row)
        return [(each.get_row_kind().sign, each.k, each.n) for each in harness.output()]


@pytest.mark.parametrize("backend", ["heap", "paged"])
def test_the_row_before_comes_back(backend: Literal["heap", "paged"]) -> None:
    given = [("+I", "a", 1), ("+I", "b", 1), ("+I", "c", 1), ("-D", "a", 1), ("-U", "c", 1)]
    assert upserts(given, backend=backend) == [
        ("+I", "a", 1),
        ("+U", "b", 1),
        ("+U", "c", 1),
        ("+U", "b", 1),
    ]


def test_a_row_replaces_that_of_its_key() -> None:
    given = [("+I", "a", 1), ("+U", "a", 1), ("-D", "a", 1), ("-D", "a", 1)]
    assert upserts(given) == [("+I", "a", 1), ("+U", "a", 1), ("-D", "a", 1)]
    assert upserts(given[:3], key=None) == [("+I", "a", 1), ("+U", "a", 1)]


@settings(max_examples=examples(50), deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 2) | st.none()), max_size=12))
def test_a_sink_has_a_row_of_each_primary_key_that_the_query_has(
    changes: list[tuple[str, int | None]],
) -> None:
    query: dict[str, int] = {}
    given: list[Change] = []
    for k, n in changes:
        before = query.pop(k, None)
        if before is not None:
            given.append(("-D" if n is None else "-U", k, before))
        if n is not None:
            given.append(("+I" if before is None else "+U", k, n))
            query[k] = n
    sink: dict[int, str] = {}
    for kind, k, n in upserts(given):
        if kind == "-D":
            del sink[n]
        else:
            assert (n in sink) == (kind == "+U")
            sink[n] = k
    assert sink.keys() == {*query.values()}
    assert all(query[k] == n for n, k in sink.items())
