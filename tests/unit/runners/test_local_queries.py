"""State is queried while a job of the local runner runs, between two micro-batches."""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.common import Configuration, Duration, JobClient, Types, WatermarkStrategy
from headrace.common.job_client import StateAnswer
from headrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from headrace.datastream.connectors.file_system import FileSource, StreamFormat
from headrace.datastream.connectors.function import FunctionSink
from headrace.datastream.state import ListStateDescriptor, ValueStateDescriptor
from headrace.errors import ConfigurationError, StateQueryError

LINES = [*range(100)]
KEYS = 7


class Keeps(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))
        self.seen = runtime_context.get_list_state(ListStateDescriptor("seen", Types.LONG()))

    def process_element(self, value: int, ctx: Any) -> Iterator[int]:
        self.total.update((self.total.value() or 0) + value)
        self.seen.add(value)
        yield value


def start(folder: Path, **settings: str) -> JobClient:
    """A job that waits for more lines."""
    (folder / "lines").write_text("".join(f"{n}\n" for n in LINES))
    settings = {"execution.target": "local", "headrace.state.queryable": "keeps", **settings}
    env = StreamExecutionEnvironment(Configuration.from_dict(settings))
    lines = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(folder))
    source = lines.monitor_continuously(Duration.of_millis(10)).build()
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "lines").map(int)
    keyed = stream.key_by(lambda n: n % KEYS)
    keyed.process(Keeps(), Types.LONG()).uid("keeps").sink_to(FunctionSink(len))
    return env.execute_async("keeps")


@pytest.fixture
def client(tmp_path: Path) -> Iterator[JobClient]:
    client = start(tmp_path)
    yield client
    client.cancel().result(30)


def ask_until(client: JobClient, name: str, keys: list[int], wanted: list[Any]) -> StateAnswer:
    deadline = time.monotonic() + 30
    while (answer := client.query_state("keeps", name, keys).result(30)).values != wanted:
        assert time.monotonic() < deadline, answer
    return answer


@pytest.mark.capability("Queries of state while a job runs", runners="local")
def test_state_is_that_after_a_micro_batch(client: JobClient) -> None:
    totals = [sum(LINES[key::KEYS]) for key in range(KEYS)]
    answer = ask_until(client, "total", [*range(KEYS), 99], [*totals, None])
    assert answer.micro_batch >= 0
    seen = client.query_state("keeps", "seen", [3]).result(30).values[0]
    assert seen == LINES[3::KEYS]
    seen.append(1_000_000)
    assert client.query_state("keeps", "seen", [3]).result(30).values == [LINES[3::KEYS]]


def test_what_cannot_be_answered_is_said(client: JobClient) -> None:
    ask_until(client, "total", [1], [sum(LINES[1::KEYS])])
    with pytest.raises(ConfigurationError, match="'keeps' has no state 'typo'") as refused:
        client.query_state("keeps", "typo", [1]).result(30)
    assert "its states: seen, total" in str(refused.value)
    with pytest.raises(ConfigurationError, match="'other' cannot be queried"):
        client.query_state("other", "total", [1]).result(30)
    client.cancel().result(30)
    with pytest.raises(StateQueryError, match="the job has ended"):
        client.query_state("keeps", "total", [1]).result(30)


def test_state_is_queried_over_http(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = {"headrace.ui.port": "0", "headrace.ui.token": "open sesame"}
    client = start(tmp_path, **settings)
    try:
        ask_until(client, "total", [1], [sum(LINES[1::KEYS])])
        shown = [line for line in capsys.readouterr().err.splitlines() if "is shown at" in line]
        url = f"{shown[-1].split()[-1]}jobs/{client.get_job_id()}/state"
        body = json.dumps({"uid": "keeps", "name": "seen", "keys": [1, 2]}).encode()
        headers = {"Authorization": "Bearer open sesame"}
        with urllib.request.urlopen(urllib.request.Request(url, body, headers)) as answer:
            found = json.load(answer)
        assert found["values"] == [LINES[1::KEYS], LINES[2::KEYS]]
    finally:
        client.cancel().result(30)
