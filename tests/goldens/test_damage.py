"""A damaged checkpoint that is refused, by the file's name, before Spark starts.

What only Spark finds is in tests/spark/test_damage.py.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from headrace.errors import CheckpointError
from headrace.runners.spark import start
from tests.damage import ALL, BOTH, REFUSED, Kind, cases, damage, names_of
from tests.goldens import VERSIONS, job

KINDS: list[Kind] = [
    ("job", -1, ALL),
    ("begun", -1, BOTH),
    ("owners/[0-9]*", -1, BOTH),
    ("leases/[0-9]*", -1, BOTH),
    ("spark/metadata", -1, ALL),
    ("spark/offsets/[0-9]*", -1, ALL),
    ("spark/offsets/[0-9]*", -2, ALL),
    ("spark/offsets/.*.crc", -1, BOTH),
    ("spark/commits/[0-9]*", -1, ALL),
    ("spark/state/0/_metadata/v2/[0-9]*", -1, ALL),
    ("spark/state/0/_stateSchema/default/[0-9]*", -1, {"removed": REFUSED}),
    ("spark/state/0/0/[0-9]*.changelog", -1, {"removed": REFUSED}),
]


class SparkStarts(Exception):
    """The checkpoint was not refused."""


@pytest.fixture(autouse=True)
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    def starts(*_: Any) -> None:
        raise SparkStarts

    monkeypatch.setattr(start, "get_session", starts)
    monkeypatch.setattr(start, "prepare", starts)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for part in ("checkpoint", "out"):
        shutil.copytree(VERSIONS[-1] / part, tmp_path / part)
    return tmp_path


@pytest.mark.parametrize(("pattern", "which", "how"), [case[:3] for case in cases(KINDS)])
def test_damage_is_refused_with_the_file(pattern: str, which: int, how: str, folder: Path) -> None:
    file = sorted((folder / "checkpoint" / job.NAME).glob(pattern))[which]
    damage(file, how)
    with pytest.raises(CheckpointError) as caught:
        job.run(folder)
    where = caught.value.where
    assert where.get("file", where.get("object")) in names_of(file), where
    assert "start anew" in str(caught.value.hint) or "delete this" in str(caught.value.hint)


def test_without_damage_spark_starts(folder: Path) -> None:
    with pytest.raises(SparkStarts):
        job.run(folder)
