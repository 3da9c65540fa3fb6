"""The manifest and its sums: nothing unknown, missing or changed is read."""

from __future__ import annotations

import json

import pytest

from headrace.errors import CheckpointError
from headrace.runtime.savepoint.manifest import (
    Manifest,
    OperatorEntry,
    PartChecksum,
    record_checksum,
)
from headrace.runtime.savepoint.records import SplitRecord
from headrace.runtime.savepoint.savepoint import MemorySavepoint, PartWriter
from headrace.runtime.state.kinds import StateKind

SPLITS = [SplitRecord("0", "a", 5, b"x"), SplitRecord("0", "b", 6, b"")]


def form() -> MemorySavepoint:
    parts = PartWriter()
    parts.put("splits", SPLITS)
    parts.put("sinks", [])
    states = {"total": StateKind("value", {"type": "INT"}, expires=True)}
    operator = OperatorEntry("sums", "keyed process", "Sums", None, 128, states)
    manifest = Manifest("job", 128, 7, (operator,), {"epoch": 7}, parts.checksums)
    return MemorySavepoint(manifest, parts.records)


def test_a_manifest_comes_back() -> None:
    manifest = form().manifest
    assert Manifest.from_json(manifest.to_json()) == manifest
    assert manifest.operator("nobody") is None


def test_an_unknown_format_is_refused_and_so_is_a_damaged_manifest() -> None:
    text = form().manifest.to_json()
    found = json.loads(text)
    with pytest.raises(CheckpointError, match="format 99, this version reads 4"):
        Manifest.from_json(json.dumps({**found, "format": 99}))
    changed = text.replace('"epoch": 7', '"epoch": 6')
    assert changed != text
    for damaged in (text[:-20], "", "[]", "{}", json.dumps({"format": 2}), changed):
        with pytest.raises(CheckpointError, match="cannot be read"):
            Manifest.from_json(damaged)


def test_parts_are_compared_with_the_manifest() -> None:
    whole = form()
    assert [*whole.read("splits")] == SPLITS
    assert [*whole.read("sinks")] == []
    reordered = MemorySavepoint(whole.manifest, {"splits": SPLITS[::-1]})
    assert [*reordered.read("splits")] == SPLITS[::-1]
    for parts, message in (
        ({}, "part 'splits' of the savepoint is missing"),
        ({"splits": SPLITS[:1]}, "has 1 records, not the 2"),
        ({"splits": [SPLITS[0], SPLITS[1]._replace(nodes=b"y")]}, "the checksum of part 'splits'"),
    ):
        with pytest.raises(CheckpointError, match=message):
            list(MemorySavepoint(whole.manifest, parts).read("splits"))


def test_a_checksum_tells_columns_apart() -> None:
    assert record_checksum((b"ab", b"c")) != record_checksum((b"a", b"bc"))
    assert record_checksum((None, b"a")) != record_checksum((b"a", None))
    assert PartWriter().checksums == {}
    assert PartChecksum(1, 2) == PartChecksum(1, 2)
