"""Runs a sink's writer in a test, with the sink's ``record_encoder`` before it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.connector import Sink, SinkWriter, WriterContext


def writer_of(sink: Sink, context: WriterContext) -> SinkWriter:
    """Return a new writer of the sink, which encodes records with ``record_encoder`` first."""
    encode = sink.record_encoder
    inner = sink.writer(context)
    return inner if encode is None else _Encoding(inner, encode)


@dataclass
class _Encoding(SinkWriter):
    inner: SinkWriter
    encode: Callable[[Any], Any]

    def write(self, values: Sequence[Any], timestamps: Sequence[int | None]) -> None:
        self.inner.write([*map(self.encode, values)], timestamps)

    def prepare_commit(self) -> Any:
        return self.inner.prepare_commit()

    def abort(self) -> None:
        self.inner.abort()
