"""A micro-batch that failed is discarded; what it failed with is what the user gets."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

import pytest

from headrace.runners.spark.checkpoint.generations import Generation
from headrace.runners.spark.checkpoint.layout import CheckpointFolder
from headrace.runners.spark.query import sink as query_sink
from headrace.runners.spark.query.sink import StreamSinkWriter


def test_a_sink_that_cannot_discard_does_not_hide_the_error(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Any
) -> None:
    """Spark reports what ``abort`` raises in place of what it was called for."""
    discarded: list[str] = []

    def make_committer(program: Any, sink: Any) -> Any:
        def abort(batch: int, parts: Any) -> None:
            if sink.name == "gone":
                raise ConnectionError("no answer")
            discarded.append(sink.name)

        return SimpleNamespace(abort=abort)

    sinks = [SimpleNamespace(id=name, name=name) for name in ("one", "gone", "two")]
    monkeypatch.setattr(query_sink, "make_committer", make_committer)
    monkeypatch.setattr(query_sink, "has_committer", lambda sink: True)
    plan: Any = SimpleNamespace(
        program_ref=None,
        checkpoint_folder=CheckpointFolder(str(tmp_path)),
        owner=1,
        address=None,
        token=b"",
        generation=Generation(),
    )
    writer = StreamSinkWriter(plan)
    monkeypatch.setattr(
        writer, "_decode_messages", lambda messages: (SimpleNamespace(sinks=sinks), [])
    )
    with caplog.at_level(logging.WARNING):
        writer.abort([None], 7)
    assert discarded == ["one", "two"]
    assert "micro-batch 7 has written for sink 'gone' was not discarded: no answer" in caplog.text
