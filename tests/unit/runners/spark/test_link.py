"""Reports on their way to the user's process, among peers that have no business there."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import socket
import threading
from collections.abc import Callable, Iterator
from multiprocessing.connection import Client
from typing import Any

import pytest

from headrace.metrics._merging import MergeRule, MetricId, MetricValue
from headrace.runners.spark import link as link_module
from headrace.runners.spark.link import BatchReport, DriverLink, send_report

PATIENCE_SECONDS = 20.0
HANDSHAKE_SECONDS = 0.5
N = MetricId("", "", "n")


class Harness:
    """A link and what came over it."""

    def __init__(self) -> None:
        self.taken: list[BatchReport] = []
        self.fails = False
        self.link = DriverLink(self._take)

    def _take(self, report: BatchReport) -> None:
        if self.fails:
            raise ZeroDivisionError("told")
        self.taken.append(report)

    def send(self, report: BatchReport) -> None:
        """As a committer does; comes back when the report was taken."""
        in_time(lambda: send_report(self.link.address, self.link.token, report))

    def connect(self) -> socket.socket:
        return socket.create_connection(self.link.address)


def in_time(call: Callable[[], Any]) -> None:
    """The call, which must not hang."""
    errors: list[BaseException] = []

    def work() -> None:
        try:
            call()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(PATIENCE_SECONDS)
    assert not thread.is_alive(), "it hangs"
    if errors:
        raise errors[0]


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_module, "_HANDSHAKE_SECONDS", HANDSHAKE_SECONDS)


@pytest.fixture
def harness() -> Iterator[Harness]:
    harness = Harness()
    yield harness
    in_time(harness.link.close)


def broken() -> Any:
    raise LookupError("no such class here")


class Unreadable:
    """What can be pickled, but not read again."""

    def __reduce__(self) -> Any:
        return broken, ()


def test_each_report_is_taken_once(harness: Harness) -> None:
    for number in (0, 1, 1, 0, 2):
        harness.send(BatchReport(number, metrics={N: MetricValue(MergeRule.SUM, number)}))
    assert [report.batch_id for report in harness.taken] == [0, 1, 2]
    assert harness.taken[2].metrics == {N: MetricValue(MergeRule.SUM, 2)}
    assert harness.link.failure is None


def test_a_default_timeout_of_the_program_is_not_one_of_the_link(
    harness: Harness,
) -> None:
    large = [bytes(4 << 20)]  # more than the system takes at once
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(PATIENCE_SECONDS)
    try:
        harness.send(BatchReport(0, delivered={"sink": [(0, large)]}))
    finally:
        socket.setdefaulttimeout(before)
    assert [report.delivered for report in harness.taken] == [{"sink": [(0, large)]}]


def test_whoever_has_no_key_is_turned_away(harness: Harness) -> None:
    with pytest.raises(multiprocessing.AuthenticationError):
        in_time(lambda: Client(harness.link.address, authkey=b"a key of another run"))
    harness.send(BatchReport(0))
    assert len(harness.taken) == 1 and harness.link.failure is None


@pytest.mark.parametrize("said", [b"", b"GET / HTTP/1.1\r\n\r\n", b"\0\0\0\4none"])
def test_whoever_speaks_something_else_is_turned_away(harness: Harness, said: bytes) -> None:
    with harness.connect() as peer:
        peer.sendall(said)
        with contextlib.suppress(OSError):  # it was turned away already
            peer.shutdown(socket.SHUT_WR)
        harness.send(BatchReport(0))
    assert len(harness.taken) == 1 and harness.link.failure is None


@pytest.mark.usefixtures("impatient")
def test_whoever_is_silent_is_left_after_a_while(harness: Harness) -> None:
    with harness.connect():
        harness.send(BatchReport(0))
    assert len(harness.taken) == 1 and harness.link.failure is None


def test_a_committer_that_goes_away_is_not_waited_for(harness: Harness) -> None:
    Client(harness.link.address, authkey=harness.link.token).close()
    harness.send(BatchReport(0))
    assert len(harness.taken) == 1 and harness.link.failure is None


@pytest.mark.usefixtures("impatient")
def test_a_committer_may_take_its_time_once_it_is_known(harness: Harness) -> None:
    with Client(harness.link.address, authkey=harness.link.token) as connection:
        assert not connection.poll(1.5 * HANDSHAKE_SECONDS)
        connection.send(BatchReport(0))
        assert connection.recv()
    assert len(harness.taken) == 1


def test_a_report_that_cannot_be_read_fails_the_job_and_lets_the_committer_go(
    harness: Harness,
) -> None:
    harness.send(BatchReport(0, delivered={0: [(0, [Unreadable()])]}))
    assert isinstance(harness.link.failure, LookupError)
    harness.send(BatchReport(1))
    assert [report.batch_id for report in harness.taken] == [1]


def test_a_report_that_cannot_be_taken_fails_the_job_and_lets_the_committer_go(
    harness: Harness,
) -> None:
    harness.fails = True
    harness.send(BatchReport(0))
    assert isinstance(harness.link.failure, ZeroDivisionError)


def test_behind_its_end_a_link_takes_nothing(harness: Harness) -> None:
    in_time(harness.link.close)
    with pytest.raises(OSError):
        harness.send(BatchReport(0))
    assert not harness.taken


@pytest.mark.usefixtures("impatient")
def test_a_silent_peer_does_not_hold_up_the_end(harness: Harness) -> None:
    with harness.connect():
        in_time(harness.link.close)


def test_a_report_does_not_wait_until_the_handshake_is_acknowledged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent_at_once: list[int] = []

    class Watched:
        """A client's connection that looks at its socket when a report is sent."""

        def __init__(self, *args: Any, **options: Any) -> None:
            self.connection = Client(*args, **options)

        def __enter__(self) -> Watched:
            return self

        def __exit__(self, *error: object) -> None:
            self.connection.close()

        def fileno(self) -> int:
            return self.connection.fileno()

        def send(self, report: BatchReport) -> None:
            with socket.socket(fileno=os.dup(self.fileno())) as same:
                sent_at_once.append(same.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            self.connection.send(report)

        def recv(self) -> Any:
            return self.connection.recv()

    monkeypatch.setattr(link_module, "Client", Watched)
    harness = Harness()
    harness.send(BatchReport(0))
    harness.link.close()
    assert [report.batch_id for report in harness.taken] == [0]
    assert sent_at_once == [1]
