"""State is queried while a job runs: every answer is the state after one committed micro-batch."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.common import JobClient, Types, WatermarkStrategy
from headrace.common.job_client import StateAnswer
from headrace.errors import ConfigurationError, QueryBudgetError, StateQueryError

from .test_rescaling import rescale
from .test_savepoints import (
    KEYS,
    RECORDS,
    RESTORE,
    Tally,
    build,
    environment,
    wait_for_batches,
)

pytestmark = pytest.mark.spark

QUERYABLE = {"headrace.state.queryable": "tally", "headrace.state.query-share": "100"}
BY_COUNT = {
    tuple(sum(range(key, count, KEYS)) if key < count else None for key in range(KEYS)): count
    for count in range(RECORDS + 1)
}
"""The number of records, which come in order, by the total of every key."""


class Asked:
    """Answers about all keys, each of which is checked against those before."""

    def __init__(self) -> None:
        self.batch, self.count = -1, 0
        self.answers = 0
        self.error: BaseException | None = None

    def ask(self, client: JobClient) -> StateAnswer:
        answer = client.query_state("tally", "total", range(KEYS)).result(60)
        count = BY_COUNT.get(tuple(answer.values))
        assert count is not None, f"no number of records has these totals: {answer}"
        order = (self.batch, self.count), (answer.micro_batch, count)
        assert order[0] <= order[1], f"went back: {order}"
        assert (answer.micro_batch == self.batch) == (count == self.count) or count == 0, order
        self.batch, self.count = answer.micro_batch, count
        self.answers += 1
        return answer

    def ask_until(self, client: JobClient, over: threading.Event) -> None:
        """Ask without a pause, in a thread of its own."""
        try:
            while not over.is_set():
                self.ask(client)
        except BaseException as error:
            self.error = error


def start(folder: Path, number: int, **settings: str) -> JobClient:
    env = environment(folder, number, **{**QUERYABLE, **settings})
    build(env, folder, number)
    return env.execute_async("tallies")


def ask_when_started(asked: Asked, client: JobClient) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            asked.ask(client)
            return
        except StateQueryError as error:
            assert "has not started" in str(error) and time.monotonic() < deadline, error
            time.sleep(0.05)


@pytest.mark.capability("Queries of state while a job runs", runners="streaming")
@pytest.mark.timeout(300)
def test_answers_never_go_back_through_rescaling_restarts_and_savepoints(tmp_path: Path) -> None:
    asked, over = Asked(), threading.Event()
    client = start(tmp_path, 0)
    ask_when_started(asked, client)
    thread = threading.Thread(target=asked.ask_until, args=(client, over))
    thread.start()
    try:
        wait_for_batches(client, 2)
        rescale(tmp_path, 3)
        wait_for_batches(client, 2)
    finally:
        over.set()
        thread.join(60)
    assert asked.error is None, asked.error
    assert asked.answers > 20 and asked.count >= 300
    asked.ask(client)
    client.cancel().result()
    with pytest.raises(StateQueryError, match="the job has ended"):
        asked.ask(client)

    client = start(tmp_path, 0)
    ask_when_started(asked, client)
    wait_for_batches(client, 1)
    asked.ask(client)
    seen = client.query_state("tally", "seen", [3, 999]).result()
    assert seen.values[0] == [*range(3, 3 + KEYS * len(seen.values[0]), KEYS)]
    assert seen.values[1] is None
    savepoint = client.stop_with_savepoint(False, str(tmp_path / "saved")).result()

    client = start(tmp_path, 1, **{RESTORE: savepoint})  # in five key groups
    ask_when_started(asked, client)
    wait_for_batches(client, 1)
    asked.ask(client)
    client.cancel().result()


class Falls(Tally):
    """Its process is killed once, when it has seen half of the records."""

    def __init__(self, marker: Path) -> None:
        self._marker = marker

    def process_element(self, value: Any, ctx: Any) -> Iterator[str]:
        if value == RECORDS // 10 and not self._marker.exists():
            self._marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        yield from super().process_element(value, ctx)


@pytest.mark.timeout(240)
def test_answers_never_go_back_when_a_worker_is_killed(tmp_path: Path) -> None:
    restarts = {"restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.delay": "0 s"}
    env = environment(tmp_path, 0, **QUERYABLE, **restarts)
    numbers = env.from_sequence(0, RECORDS - 1).uid("numbers")
    times = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda v: v)
    timed = numbers.assign_timestamps_and_watermarks(times)
    keyed = timed.key_by(lambda v: v % KEYS)
    marker = tmp_path / "killed"
    keyed.process(Falls(marker), Types.STRING()).uid("tally").filter(lambda line: False).print()
    client = env.execute_async("falls")
    asked = Asked()
    ask_when_started(asked, client)
    deadline = time.monotonic() + 120
    while asked.count < RECORDS // 10 + 300:
        assert time.monotonic() < deadline
        asked.ask(client)
    client.cancel().result()
    assert marker.exists()
    assert asked.answers > 10


@pytest.mark.timeout(240)
def test_state_is_queried_over_http(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    token = "open sesame"
    settings = {"headrace.ui.port": "0", "headrace.ui.token": token}
    client = start(tmp_path, 0, **settings)
    ask_when_started(Asked(), client)
    wait_for_batches(client, 1)
    shown = [line for line in capsys.readouterr().err.splitlines() if "is shown at" in line]
    address = shown[-1].split()[-1].rstrip("/")

    def post(body: Any, given: str | None = token) -> tuple[int, Any]:
        url = f"{address}/jobs/{client.get_job_id()}/state"
        headers = {} if given is None else {"Authorization": f"Bearer {given}"}
        request = urllib.request.Request(url, json.dumps(body).encode(), headers, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    query = {"uid": "tally", "name": "total", "keys": [*range(KEYS)]}
    code, answer = post(query)
    assert code == 200 and tuple(answer["values"]) in BY_COUNT
    assert answer["microBatch"] >= 0
    assert post(query, None)[0] == 401
    assert post(query, "guess")[0] == 401
    code, answer = post({**query, "name": "typo"})
    assert code == 404 and "its states: seen, total" in answer["errors"][0]
    code, answer = post({**query, "uid": "typo"})
    assert code == 404 and "headrace.state.queryable" in answer["errors"][0]
    assert post({"uid": "tally"})[0] == 400
    assert post({**query, "keys": [*range(1001)]})[0] == 400
    client.cancel().result()


def test_queries_cannot_take_more_than_their_share(tmp_path: Path) -> None:
    client = start(tmp_path, 0, **{"headrace.state.query-share": "0.001"})
    ask_when_started(Asked(), client)
    wait_for_batches(client, 1)
    with pytest.raises(QueryBudgetError, match=r"more than 0\.001 of a core"):
        for _ in range(1000):
            client.query_state("tally", "total", range(KEYS)).result()
    wait_for_batches(client, 1)
    client.cancel().result()


def test_an_operator_that_is_not_there_is_refused_at_the_start(tmp_path: Path) -> None:
    env = environment(tmp_path, 0, **{"headrace.state.queryable": "tally;other"})
    build(env, tmp_path, 0)
    with pytest.raises(ConfigurationError, match="keyed state has the uid 'other'"):
        env.execute_async("tallies")
