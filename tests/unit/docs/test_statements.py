"""Statements of the documentation that no other test holds."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from headrace.common import Configuration
from headrace.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from headrace.datastream.state import ValueStateDescriptor

ROOT = Path(__file__).parents[3]
KEYS = """[1, 2.5, "a", b"a", None, True, (1, "a"), frozenset({"a", "b"}), Decimal("1.50"),
    date(2024, 1, 1), datetime(2024, 1, 1, 12), UUID(int=7), Row(name="a", size=1), Row("a", 1)]"""
PRINT_HASHES = f"""
from datetime import date, datetime
from decimal import Decimal
from uuid import UUID
from headrace.common import Row
from headrace.runtime.keys.key_groups import stable_hash
print([stable_hash(key) for key in {KEYS}])
"""


def test_hashes_are_equal_in_every_interpreter() -> None:
    found = {
        subprocess.run(
            [sys.executable, "-c", PRINT_HASHES],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT / "src")},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1


class Gather(KeyedProcessFunction):
    """Yields its state, and goes on changing it."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen"))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        seen = self.seen.value() or []
        seen.append(value)
        self.seen.update(seen)
        yield seen
        seen.append("changed behind the yield")
        seen.pop()


@pytest.mark.parametrize("behind", ["a sink", "a key exchange"])
def test_what_is_emitted_is_final(behind: str) -> None:
    configuration = Configuration().set_string("execution.target", "local")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    gathered = env.from_collection([1, 2, 3]).key_by(lambda value: 0).process(Gather())
    if behind == "a key exchange":
        gathered = gathered.key_by(lambda seen: 0).reduce(lambda _, seen: seen)
    results: Any = gathered.execute_and_collect()
    assert list(results) == [[1], [1, 2], [1, 2, 3]]


def test_the_local_runner_does_not_restart(tmp_path: Path) -> None:
    configuration = Configuration.from_dict(
        {
            "execution.target": "local",
            "restart-strategy.type": "fixed-delay",
            "restart-strategy.fixed-delay.attempts": "3",
            "restart-strategy.fixed-delay.delay": "1 ms",
        }
    )
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    calls = tmp_path / "calls"

    def fail(value: int) -> int:
        with calls.open("a") as file:
            file.write("x")
        raise ValueError("not yet")

    env.from_collection([1]).map(fail).print()
    with pytest.raises(ValueError, match="not yet"):
        env.execute()
    assert calls.read_text() == "x"


def test_the_formats_are_imported_from_where_the_page_says() -> None:
    text = (ROOT / "docs" / "how-to" / "formats.md").read_text("utf-8")
    table = text.partition("| messages |")[2].partition("\n\n")[0].splitlines()[2:]
    home = None
    for row in table:
        _, reads, writes, module, _ = (cell.strip() for cell in row.strip("|").split("|"))
        home = home if module == "the same" else import_module(module.strip("`"))
        for name in re.findall(r"`([A-Z]\w+)", f"{reads} {writes}"):
            assert hasattr(home, name), f"{name} is not in {module}"
    assert len(table) == 8


def test_the_changelog_has_the_version() -> None:
    headings = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["version"] in headings
