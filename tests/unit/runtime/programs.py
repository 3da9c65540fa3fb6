"""Small programs for tests of the runtime, put together by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from headrace.metrics.metricbase import MetricGroup
from headrace.operators.map import MapSpec
from headrace.runtime import block as blocks
from headrace.runtime.block import Block, Envelope, Kind, records_of
from headrace.runtime.chain.chain import Chain
from headrace.runtime.channel import ALL_TASKS, Channel
from headrace.runtime.context import TaskInfo
from headrace.runtime.loops import Push
from headrace.runtime.operator import (
    Link,
    NodeProgram,
    Operator,
    OperatorSpec,
    Outputs,
    PushWatermark,
    Traits,
)
from headrace.runtime.program import (
    ChainProgram,
    ExchangeProgram,
    JobProgram,
    Settings,
    SourceProgram,
    VertexProgram,
)
from headrace.runtime.user_function import UserFunction


def channel(text: str) -> Channel:
    """In short: ``0`` is an exchange, ``0:x`` a split, ``0@1`` a group, ``df:0`` a DataFrame."""
    if text.startswith("df:"):
        return Channel(text.removeprefix("df:"), group=ALL_TASKS)
    exchange, split_mark, split = text.partition(":")
    exchange, group_mark, group = exchange.partition("@")
    return Channel(exchange, split if split_mark else None, int(group) if group_mark else None)


def Mark(position: int, text: str, watermark: int, idle: bool = False) -> blocks.Mark:
    """A mark of a channel in short."""
    return blocks.Mark(position, channel(text), watermark, idle)


def to_node(index: int, tag: str | None = None) -> Link:
    return Link("node", index, tag)


def to_sink(index: int, tag: str | None = None) -> Link:
    return Link("sink", index, tag)


def to_exchange(index: int, tag: str | None = None) -> Link:
    return Link("exchange", str(index), tag)


def node(
    number: int, spec: OperatorSpec | None, *links: Link, name: str = "", uid: str | None = None
) -> NodeProgram:
    return NodeProgram(number, name or f"node {number}", uid, f"job.py:{number}", spec, links)


def chain_of(*nodes: NodeProgram, exchanges: Iterable[ExchangeProgram] = ()) -> ChainProgram:
    """The first node is the root."""
    return ChainProgram(nodes[0].id, {each.id: each for each in nodes}, tuple(exchanges))


def exchange(index: int, mode: str = "key", groups: int = 4, **other: Any) -> ExchangeProgram:
    if mode == "key":
        other.setdefault("selector", UserFunction(lambda value: value))
    return ExchangeProgram(
        str(index),
        other.pop("target", 0),
        1,
        mode,
        groups,
        mode.upper(),
        "feeder",
        "job.py:9",
        **other,
    )


def job_of(
    sources: Iterable[SourceProgram] = (),
    *vertices: VertexProgram,
    parallelism: int = 1,
    batch: bool = False,
    needs_ticks: bool = False,
    **settings: Any,
) -> JobProgram:
    """A job with its vertices in one stage; sinks are at stage 2."""
    return JobProgram(
        "job",
        "run",
        tuple(sources),
        (vertices,),
        (),
        Settings(**settings),
        parallelism,
        batch,
        needs_ticks,
    )


def running(program: ChainProgram, merged: bool = False, **settings: Any) -> Chain:
    """A chain that has begun a task run."""
    chain = Chain(program, job_of(**settings), TaskInfo(), MetricGroup(), merged)
    chain.begin(sender=3, now_ms=1000)
    return chain


def mapping(function: Callable[[Any], Any]) -> MapSpec:
    return MapSpec(UserFunction(function))


@dataclass(frozen=True)
class Spy(OperatorSpec):
    """Writes down what passes it (records, watermarks, life cycle), and lets it pass.

    ``change`` is done to each record before it is handed on.
    """

    name: str
    log: list[Any] = field(default_factory=list)
    change: Callable[[Any], Any] | None = None
    traits = Traits()

    @property
    def label(self) -> str:
        return self.name

    @property
    def functions(self) -> tuple[UserFunction, ...]:
        return (UserFunction(_LifeCycle(self.name, self.log), "map"),)

    def build(self) -> Operator:
        return _SpyOperator(self)

    def records(self) -> list[Any]:
        return [entry[2] for entry in self.log if entry[:2] == (self.name, "record")]

    def watermarks(self) -> list[Any]:
        return [entry[2:] for entry in self.log if entry[:2] == (self.name, "watermark")]


class _LifeCycle:
    def __init__(self, name: str, log: list[Any]) -> None:
        self.name, self.log = name, log

    def map(self, value: Any) -> Any:
        return value

    def open(self, context: Any) -> None:
        self.log.append((self.name, "open", context.get_task_name()))

    def close(self) -> None:
        self.log.append((self.name, "close"))


class _SpyOperator(Operator):
    def __init__(self, spec: Spy) -> None:
        self._spec = spec
        self._seen = 0

    def bind(self, outputs: Outputs) -> Push:
        spec, down = self._spec, outputs.main

        def push(value: Any, timestamp: int | None) -> None:
            # as it is now: it may be changed later
            seen = list(value) if isinstance(value, list) else value
            spec.log.append((spec.name, "record", seen, timestamp))
            self._seen += 1
            down(value if spec.change is None else spec.change(value), timestamp)

        return push

    def watermark(self, watermark: int, idle: bool, push_watermark: PushWatermark) -> None:
        self._spec.log.append((self._spec.name, "watermark", watermark, idle))
        push_watermark(watermark, idle)

    def snapshot(self) -> int | None:
        """How many records passed; None where there were none."""
        return self._seen or None

    def restore(self, state: Any | None) -> None:
        self._seen = state or 0


def data(envelopes: Iterable[Envelope]) -> list[Envelope]:
    return [envelope for envelope in envelopes if envelope.kind == Kind.DATA]


def sent(envelopes: Iterable[Envelope], stage: int, target: int = 0) -> list[Any]:
    """The records for a sink or vertex, in the order of (sender, seq)."""
    mine = [e for e in data(envelopes) if e.stage == stage and e.target == target]
    mine.sort(key=lambda envelope: (envelope.sender, envelope.seq))
    return [value for envelope in mine for value in records_of(envelope.payload)]


def block(
    *records: Any,
    keys: list[Any] | None = None,
    stamps: list[int | None] | None = None,
    marks: Iterable[blocks.Mark] = (),
    **other: Any,
) -> Block:
    parts: dict[str, Any] = {"copied": False, "first_watermark_ms": None, "now_ms": 0} | other
    if isinstance(parts.get("merged_channel"), str):
        parts["merged_channel"] = channel(parts["merged_channel"])
    opened = parts.get("channel_starts", ())
    parts["channel_starts"] = tuple((at, channel(text)) for at, text in opened)
    return Block(
        keys=list(records) if keys is None else keys,
        values=list(records),
        timestamps=stamps,
        marks=list(marks),
        **parts,
    )
