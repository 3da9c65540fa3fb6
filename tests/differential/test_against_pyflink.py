"""The corpus on Headrace, against what PyFlink answered to the same programs.

The modules of ``programs/`` are copied with the first word of their imports changed; each program
is run, and compared with its golden by its rule. PyFlink itself is not needed here.
"""

from __future__ import annotations

import builtins
import importlib
from typing import Any

import pytest

from tests.differential.corpus import (
    GOLDENS,
    Program,
    arranged,
    arranged_lines,
    copy_programs,
    load,
    named_streams,
    programs,
    read_golden,
)
from tests.differential.encoding import encode
from tests.differential.watermarks import as_the_program_says

pytestmark = pytest.mark.differential

CORPUS = programs()
CASES = [(program, mode) for program in CORPUS for mode in program.modes]

# Programs whose golden Headrace means to differ from, by name and mode, each with its reason.
# The marks are strict: a program that comes to agree has to leave this list.
DEVIATIONS: dict[tuple[str, str], str] = {
    ("69_source_watermark_strategy", "streaming"): "PyFlink drops the assigner of from_source",
    ("69_source_watermark_strategy", "batch"): "PyFlink drops the assigner of from_source",
    ("115_session_reduce_joins_two", "streaming"): "PyFlink loses one of two sessions it joins",
    ("89_print_nested_row", "streaming"): "declared names reach rows within rows too",
    ("90_float_collected", "streaming"): "a FLOAT is collected as functions see it",
}

# The handful that also runs on Spark: one for each road a record can take.
ON_SPARK = (
    "13_map_flat_map_filter",
    "21_union",
    "30_side_output_keyed",
    "35_reduce",
    "47_map_state",
    "54_timers_register_timers",
    "61_chained_keyed_stages_with_timers",
    "64_runtime_context",
    "191_window_state_by_window",
    "278_connect_timers_go_by_the_slower_input",
)


def case(program: Program, mode: str, *marks: pytest.MarkDecorator) -> Any:
    """One parameter set, marked where Headrace differs on purpose."""
    reason = DEVIATIONS.get((program.name, mode))
    expected = [pytest.mark.xfail(reason=reason, strict=True)] if reason else []
    return pytest.param(program, mode, id=f"{program.name}-{mode}", marks=[*expected, *marks])


@pytest.fixture(scope="module", autouse=True)
def copies(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The programs with their imports changed, where this process and workers find them."""
    copy_programs(tmp_path_factory.mktemp("headrace-programs"), "headrace")


# One program returns texts on purpose, and is warned.
@pytest.mark.filterwarnings("ignore:a function of FlatMap.* returned:UserWarning")
@pytest.mark.parametrize(("program", "mode"), [case(*pair) for pair in CASES])
def test_local(program: Program, mode: str, request: pytest.FixtureRequest) -> None:
    check(program, mode, "local", request)


@pytest.mark.spark
@pytest.mark.parametrize(
    ("program", "mode"), [case(*pair) for pair in CASES if pair[0].name in ON_SPARK]
)
def test_spark(program: Program, mode: str, request: pytest.FixtureRequest) -> None:
    check(program, mode, "spark", request)


def test_every_golden_has_its_program() -> None:
    """A golden without a program, or a program without its golden, is a test that never runs."""
    wanted = {program.golden(mode).name for program, mode in CASES}
    assert {path.name for path in GOLDENS.glob("*.json")} == wanted
    assert set(ON_SPARK) <= {program.name for program in CORPUS}
    assert set(DEVIATIONS) <= {(program.name, mode) for program, mode in CASES}


def test_goldens_are_of_their_programs() -> None:
    wrong = [(program.name, mode) for program, mode in CASES if not is_of(program, mode)]
    assert not wrong


def is_of(program: Program, mode: str) -> bool:
    """Whether a golden is of this program and mode, and failed if and only if it has to."""
    golden = read_golden(program, mode)
    outcomes = [golden["printed"]] if program.prints else list(golden["streams"].values())
    is_own = (golden["program"], golden["mode"]) == (program.name, mode)
    has_to_fail = program.rule == "raises"
    return is_own and all(("error" in outcome) == has_to_fail for outcome in outcomes)


def check(program: Program, mode: str, target: str, request: pytest.FixtureRequest) -> None:
    """Run the program on Headrace and hold its results against the golden."""
    golden = read_golden(program, mode)
    if program.rule == "raises":
        error_type = getattr(builtins, program.argument or "Exception")
        with pytest.raises(error_type):
            run(program, mode, target, None)
    elif program.prints:
        env = environment(program, mode, target)
        load(program, "headrace")(env)
        # Only here: what captures the output of a process costs more than many a program.
        capfd: pytest.CaptureFixture[str] = request.getfixturevalue("capfd")
        env.execute(program.name)
        lines = capfd.readouterr().out.splitlines()
        assert arranged_lines(program, lines) == arranged_lines(program, golden["printed"]["lines"])
    else:
        for name, outcome in golden["streams"].items():
            values = run(program, mode, target, name)
            assert arranged(program, values) == arranged(program, outcome["values"]), name


def run(program: Program, mode: str, target: str, name: str | None) -> list[object]:
    """The encoded values of one named stream (of the first, for None), the program built anew."""
    env = environment(program, mode, target)
    with as_the_program_says(program):
        streams = named_streams(load(program, "headrace")(env))
    stream: Any = streams[name or next(iter(streams))]
    with stream.execute_and_collect() as results:
        return [encode(value) for value in results]


def environment(program: Program, mode: str, target: str) -> Any:
    """A fresh Headrace environment for one run of the program."""
    config = importlib.import_module("headrace.common").Configuration()
    if target != "spark":
        config.set_string("execution.target", target)
    config.set_string("execution.runtime-mode", mode.upper())
    config.set_string("parallelism.default", str(program.parallelism))
    environments = importlib.import_module("headrace.datastream").StreamExecutionEnvironment
    return environments.get_execution_environment(config)
