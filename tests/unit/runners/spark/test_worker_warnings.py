"""Warnings of other processes in the log of the user's."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.runners.spark.worker_warnings import (
    REPEAT_SECONDS,
    WarningForwarder,
    write_warnings_to,
)

_log = logging.getLogger("headrace.some.module")


@pytest.fixture(autouse=True)
def no_file_afterwards() -> Iterator[None]:
    yield
    write_warnings_to(None)


def written(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def test_warnings_of_a_worker_are_logged_in_the_users_process(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "notices"
    for _ in range(2):  # a worker enters the job for each task
        write_warnings_to(str(path))
    _log.warning("%s waits\nfor a server", "a task")
    _log.info("and it is not worth a line")
    write_warnings_to(None)
    assert len(written(path)) == 1
    caplog.clear()
    WarningForwarder(str(path)).close()
    assert caplog.record_tuples == [(_log.name, logging.WARNING, "a task waits\nfor a server")]


def test_what_many_workers_say_at_once_is_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, now_s = tmp_path / "notices", 0.0
    warnings_file = WarningForwarder(str(path), lambda: now_s)
    warnings_file.close()  # its thread ends; from here on the test is what reads
    write_warnings_to(str(path))
    for text in ("waits", "waits", "works again"):
        _log.warning(text)
    caplog.clear()
    write_warnings_to(None)
    warnings_file._log_new_lines()
    assert caplog.messages == ["waits", "works again"]
    now_s += REPEAT_SECONDS
    path.write_bytes(path.read_bytes() + path.read_bytes()[:-1])  # the last line is not complete
    warnings_file._log_new_lines()
    assert caplog.messages == ["waits", "works again", "waits"]


def test_a_worker_of_a_job_that_is_over_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "job"
    folder.mkdir()
    write_warnings_to(str(folder / "notices"))
    folder.rmdir()
    _log.warning("still waiting")
    write_warnings_to(str(tmp_path / "next"))
    _log.warning("the next job's")
    assert len(written(tmp_path / "next")) == 1 and not folder.exists()
