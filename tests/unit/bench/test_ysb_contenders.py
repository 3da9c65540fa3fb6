"""Who takes part in the Yahoo Streaming Benchmark, and what they are given."""

from __future__ import annotations

import string
from pathlib import Path

import pytest

from bench.environments import ENVIRONMENTS, OWN
from bench.ysb import jars, peers
from bench.ysb.contenders import CONTENDERS
from headrace.dev.artifacts import read_pinned_files

IDS = [each.name for each in CONTENDERS]


def test_each_has_a_program_an_environment_and_two_sizes() -> None:
    programs = {path.stem for path in Path(peers.__path__[0]).glob("*_job.py")}
    assert {each.module for each in CONTENDERS} == programs
    assert {each.environment for each in CONTENDERS} <= {OWN, *ENVIRONMENTS}
    assert all(small < large for small, large in (each.sizes for each in CONTENDERS))
    assert len(IDS) == len({*IDS})


def test_jars_are_pinned_by_checksum(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jars, "install_server", lambda name, parts: Path("cache", name))
    assert jars.jars_of("") == {}
    for name in {each.jars for each in CONTENDERS if each.jars}:
        parts = read_pinned_files(name, jars.LISTED)
        assert parts
        assert all(
            len(part.sha256) == 64 and {*part.sha256} <= {*string.hexdigits} for part in parts
        )
        paths = jars.jars_of(name)["jars"].split(",")
        assert paths == [f"cache/bench-{name}/{part.file_name}" for part in parts]
