"""The plans of a few programs, kept as text.

After a change that is meant to change them, renew the files and read the difference:

    HEADRACE_RENEW_PLANS=1 python -m pytest tests/plans
"""

from __future__ import annotations

import itertools
import json
import os
from pathlib import Path

import pytest

from headrace.common import Configuration
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream._build import execution
from tests.plans.programs import PROGRAMS

GOLDENS = Path(__file__).parent / "goldens"
RENEW = "HEADRACE_RENEW_PLANS"


def environment() -> StreamExecutionEnvironment:
    configuration = Configuration.from_dict(
        {"parallelism.default": "2", "pipeline.max-parallelism": "16"}
    )
    return StreamExecutionEnvironment.get_execution_environment(configuration)


def compare(file: Path, found: str) -> None:
    if os.environ.get(RENEW):
        file.write_text(found, "utf-8")
    assert found == file.read_text("utf-8"), f"if that is right, renew it: {RENEW}=1"


def numbered_anew(plan: str) -> str:
    """The plan with ids from 1: they count all nodes that were ever built in the process."""
    nodes = json.loads(plan)["nodes"]
    ids = dict(zip((node["id"] for node in nodes), itertools.count(1), strict=False))
    for node in nodes:
        node["id"] = ids[node["id"]]
        for edge in node.get("predecessors", ()):
            edge["id"] = ids[edge["id"]]
    return json.dumps({"nodes": nodes}, indent=2) + "\n"


@pytest.mark.parametrize("name", PROGRAMS)
def test_explain(name: str) -> None:
    env = environment()
    stream = PROGRAMS[name](env)
    program = execution.explain(env._list_sinks(), env._configuration)
    compare(GOLDENS / f"{name}.txt", f"{stream.explain()}\n\nWith all sinks\n\n{program}\n")


@pytest.mark.parametrize("name", PROGRAMS)
def test_execution_plan(name: str) -> None:
    env = environment()
    PROGRAMS[name](env)
    compare(GOLDENS / f"{name}.json", numbered_anew(env.get_execution_plan()))


def test_every_golden_has_a_program() -> None:
    assert {file.stem for file in GOLDENS.iterdir()} == set(PROGRAMS)


def test_a_plan_is_the_same_whatever_was_built_before() -> None:
    texts = set()
    for name in ("union", "two_stages"):
        PROGRAMS[name](environment())
        texts.add(PROGRAMS["side_output"](environment()).explain())
    assert len(texts) == 1


def test_asking_for_a_plan_leaves_the_program_as_it_was() -> None:
    env = environment()
    stream = PROGRAMS["two_stages"](env)
    plan = env.get_execution_plan()
    stream.explain()
    assert env.get_execution_plan() == plan
