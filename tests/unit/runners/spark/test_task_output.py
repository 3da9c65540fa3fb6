"""What functions print and log in tasks reaches the user's process, with operator and task."""

from __future__ import annotations

import io
import json
import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.common._options.catalogue import log_levels
from headrace.errors import ConfigurationError
from headrace.runners.spark import task_output
from headrace.runners.spark.failures import TaskFailure, failure_in, output_in, raise_encoded
from headrace.runners.spark.task_output import (
    LINES_PER_SECOND,
    LINES_PER_TASK,
    OutputLine,
    TaskOutput,
    forward_output,
    take_output,
)
from headrace.runners.spark.worker_warnings import WarningForwarder
from headrace.runtime.operator import NodeProgram

NODE = NodeProgram("id", "sums", None, "job.py:3", None, ())


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    root = logging.getLogger()
    handlers, level = [*root.handlers], root.level
    monkeypatch.setattr(task_output, "_installed", None)
    yield tmp_path / "notices"
    root.handlers[:], root.level = handlers, level
    logging.getLogger("shop").setLevel(logging.NOTSET)


def entries(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def in_operator(function: Any) -> None:
    """Call a function as an operator does: its frame has the node."""
    node = NODE
    function()
    assert node is NODE


def test_printed_lines_have_operator_and_task(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = io.StringIO()
    monkeypatch.setattr(sys, "stdout", own)
    forward_output(str(path), {}, lambda: 3)
    in_operator(lambda: print("a", 1, "\nb"))
    print("outside")
    assert entries(path) == [
        [None, logging.INFO, "a 1 ", "[sums, task 3]"],
        [None, logging.INFO, "b", "[sums, task 3]"],
        [None, logging.INFO, "outside", "[task 3]"],
    ]
    assert own.getvalue().splitlines()[1] == "[sums, task 3] b"


def test_a_line_is_sent_when_it_is_complete(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    forward_output(str(path), {}, lambda: 0)
    print("half", end="")
    assert not path.exists()
    print(" a line")
    assert [entry[2] for entry in entries(path)] == ["half a line"]


def test_log_records_have_their_logger_and_level(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    forward_output(str(path), {"shop": "INFO"}, lambda: 2)
    log = logging.getLogger("shop.prices")
    in_operator(lambda: log.info("%d sold", 7))
    log.debug("not shown")
    logging.getLogger("headrace.connector").warning("has a way of its own")
    assert entries(path) == [["shop.prices", logging.INFO, "7 sold", "[sums, task 2]"]]


def test_the_users_process_prints_and_logs_them(
    path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    lines = [
        [None, logging.INFO, "printed", "[sums, task 1]"],
        ["shop", logging.ERROR, "logged", "[sums, task 1]"],
        [None, logging.INFO, "printed", "[sums, task 1]"],  # not a warning: told again
    ]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    WarningForwarder(str(path)).close()
    assert capsys.readouterr().err.splitlines() == ["[sums, task 1] printed"] * 2
    assert caplog.record_tuples == [("shop", logging.ERROR, "[sums, task 1] logged")]


def test_of_many_lines_the_rest_is_counted(path: Path) -> None:
    now_s = 0.0
    output = TaskOutput(lambda: 0, lambda: now_s)
    output.path = str(path)
    for number in range(LINES_PER_SECOND + 1000):
        output.send(None, logging.INFO, str(number), "[sums, task 0]")
    assert len(entries(path)) == LINES_PER_SECOND
    now_s = 1.0
    output.send(None, logging.INFO, "later", "[sums, task 0]")
    told, later = entries(path)[-2:]
    assert told[2] == "and 1,000 more lines, which are in Spark's log"
    assert later[2] == "later"


def on_a_cluster(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """Forward output without a file; return the worker's own standard output."""
    own = io.StringIO()
    monkeypatch.setattr(sys, "stdout", own)
    forward_output(None, {"shop": "INFO"}, lambda: 2)
    return own


def test_on_a_cluster_lines_go_with_what_the_task_sends(
    monkeypatch: pytest.MonkeyPatch, path: Path
) -> None:
    own = on_a_cluster(monkeypatch)
    in_operator(lambda: print("looking"))
    logging.getLogger("shop").info("sold")
    logging.getLogger("headrace.connector").warning("the broker is away")
    logging.getLogger("headrace.connector").info("not shown")
    assert take_output() == [
        (None, logging.INFO, "looking", "[sums, task 2]"),
        ("shop", logging.INFO, "sold", "[task 2]"),
        ("headrace.connector", logging.WARNING, "the broker is away", "[task 2]"),
    ]
    assert take_output() == []
    assert own.getvalue() == "[sums, task 2] looking\n"


def test_a_task_sends_so_many_lines_and_counts_the_rest(
    monkeypatch: pytest.MonkeyPatch, path: Path
) -> None:
    on_a_cluster(monkeypatch)
    for number in range(LINES_PER_TASK + 1_000):
        print(number)
    *lines, last = take_output()
    assert [line.text for line in lines] == [*map(str, range(LINES_PER_TASK))]
    assert last.text == "and 1,000 more lines, which are in the executor's log"
    print("x" * 100_000)
    assert [line.text for line in take_output()] == [
        "and 1 more line, which is in the executor's log"
    ]


def test_lines_of_another_run_are_not_sent(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    on_a_cluster(monkeypatch)
    print("of the first run")
    forward_output(None, {}, lambda: 0)
    print("of the second run")
    assert [line.text for line in take_output()] == ["of the second run"]


def test_a_failure_brings_the_last_lines_of_its_task(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], path: Path
) -> None:
    on_a_cluster(monkeypatch)
    for number in range(60):
        print(f"{number} {'x' * 300}")
    with pytest.raises(TaskFailure) as raised:
        raise_encoded(ValueError("too large"))
    assert isinstance(failure_in(str(raised.value)), ValueError)
    lines = output_in(str(raised.value))
    assert [line.text.split()[0] for line in lines] == [*map(str, range(40, 60))]
    assert {len(line.text) for line in lines} == {202}
    forwarder = WarningForwarder(str(path))
    forwarder.show(lines[:1])
    forwarder.close()
    assert capsys.readouterr().err == f"[task 2] 40 {'x' * 197} …\n"
    assert output_in("Job aborted") == []


def test_equal_warnings_of_many_tasks_are_logged_once(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    forwarder = WarningForwarder(str(path))
    forwarder.show(
        [
            OutputLine("headrace.kafka", logging.WARNING, "away", f"[task {task}]")
            for task in range(3)
        ]
    )
    forwarder.close()
    assert caplog.record_tuples == [("headrace.kafka", logging.WARNING, "away")]


def test_with_a_file_nothing_goes_with_what_the_task_sends(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    forward_output(str(path), {}, lambda: 0)
    print("here")
    assert take_output() == []
    assert [entry[2] for entry in entries(path)] == ["here"]


def test_levels_come_from_our_keys_and_from_those_of_pyflink() -> None:
    assert log_levels({"headrace.logging.level": "info"}) == {"": "INFO"}
    assert log_levels({"headrace.logging.level.a.b": "debug"}) == {"a.b": "DEBUG"}
    assert log_levels({"python.logging.default.level": "ERROR"}) == {"": "ERROR"}
    overrides = {"python.logging.level.overrides": "a:INFO,b:error"}
    assert log_levels(overrides) == {"a": "INFO", "b": "ERROR"}
    with pytest.raises(ConfigurationError):
        log_levels({"headrace.logging.level.a": "LOUD"})
