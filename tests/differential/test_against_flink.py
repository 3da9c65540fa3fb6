"""What PyFlink has not, against what Flink's Java API answered to the same cases.

``java/`` has the programs, and its README says how they are run; ``goldens_java/`` holds what they
gave. Neither Java nor Flink is needed here.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from headrace.common import Configuration
from headrace.datastream import StreamExecutionEnvironment
from tests.differential.flink_cases import CASES

pytestmark = pytest.mark.differential

GOLDENS = Path(__file__).parent / "goldens_java"

# Two inputs: how they interleave is not promised, and so is not the order of their pairs.
UNORDERED = ("interval_join", "window_join", "co_group")


@pytest.mark.parametrize("name", CASES)
def test_case(name: str) -> None:
    config = Configuration()
    config.set_string("execution.target", "local")
    env = StreamExecutionEnvironment.get_execution_environment(config)
    env.set_parallelism(1)
    with CASES[name](env).execute_and_collect() as results:
        given = json.loads(json.dumps(list(results)))
    golden = json.loads((GOLDENS / f"{name}.json").read_text(encoding="utf-8"))
    assert arranged(name, given) == arranged(name, golden["results"])


def test_every_golden_has_its_case() -> None:
    assert {path.stem for path in GOLDENS.glob("*.json")} == set(CASES)


def arranged(name: str, results: list[Any]) -> object:
    """Results by key, each key's in their order; of two inputs all of them, sorted."""
    if name.startswith(UNORDERED):
        return sorted(results)
    by_key: defaultdict[str, list[Any]] = defaultdict(list)
    for result in results:
        by_key[result[0]].append(result[1:])
    return dict(by_key)
