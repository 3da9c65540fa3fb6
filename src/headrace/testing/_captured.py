"""An operator whose output a test can see: side outputs, timestamps and watermarks included."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.common.changelog_mode import ChangelogMode
from headrace.common.watermark_strategy import Watermark, WatermarkOutput
from headrace.runtime.columns.batch import PushColumns
from headrace.runtime.context import TaskContext
from headrace.runtime.loops import Push
from headrace.runtime.operator import (
    KeyedOperator,
    NodeProgram,
    Operator,
    OperatorSpec,
    Outputs,
    ProcessBlock,
    ProcessColumns,
    PushWatermark,
    Traits,
)
from headrace.runtime.record_copies import copy_record
from headrace.runtime.state.backend import StateBackend, Timer
from headrace.runtime.state.handles import KeyContext
from headrace.runtime.user_function import UserFunction

Emitted = list[tuple[Any, int | None]]
"""Pairs of a record and its timestamp (ms), in the order of emission."""


@dataclass
class Captured:
    """What an operator emitted, and what it was opened with."""

    main: Emitted = field(default_factory=list)
    side_outputs: dict[str, Emitted] = field(default_factory=dict)
    watermarks: list[int] = field(default_factory=list)
    context: TaskContext | None = None
    key_context: KeyContext | None = None
    cleared: int = 0
    """How many records were emitted and forgotten."""

    @property
    def records(self) -> int:
        """How many records were emitted to all outputs so far."""
        return self.cleared + len(self.main) + sum(map(len, self.side_outputs.values()))

    def clear(self) -> None:
        """Forget what was emitted."""
        self.cleared = self.records
        self.main.clear()
        self.side_outputs.clear()
        self.watermarks.clear()


class CapturingOutputs(Outputs):
    """Keeps what is emitted; every tag has a taker."""

    __slots__ = ("_captured",)

    def __init__(self, captured: Captured, push_watermark: PushWatermark) -> None:
        super().__init__(_append_to(captured.main), {}, push_watermark)
        self._captured = captured

    def side(self, tag_id: str) -> Push:
        side_outputs = self._captured.side_outputs

        def push(value: Any, timestamp: int | None) -> None:
            # looked up each time: the test may have cleared the output
            side_outputs.setdefault(tag_id, []).append((copy_record(value), timestamp))

        return push


def _append_to(emitted: Emitted) -> Push:
    def push(value: Any, timestamp: int | None) -> None:
        emitted.append((copy_record(value), timestamp))

    return push


class CapturedWatermarks(WatermarkOutput):
    """Keeps what a watermark generator emits."""

    def __init__(self) -> None:
        self.emitted: list[int] = []

    def emit_watermark(self, watermark: Watermark | int) -> None:
        """Keep a watermark (ms)."""
        self.emitted.append(watermark if isinstance(watermark, int) else watermark.timestamp)

    def mark_idle(self) -> None:
        """There is no other input to hold back."""

    def mark_active(self) -> None:
        """There is no other input to hold back."""


@dataclass(frozen=True)
class CapturedSpec(OperatorSpec):
    """The spec of an operator under test, with the same traits and functions."""

    inner: OperatorSpec
    captured: Captured

    @property
    def traits(self) -> Traits:  # type: ignore[override]
        """The traits of the operator under test."""
        return self.inner.traits

    @property
    def kind(self) -> str:  # type: ignore[override]
        """That of the operator under test."""
        return self.inner.kind

    @property
    def label(self) -> str:
        return self.inner.label

    @property
    def functions(self) -> tuple[UserFunction, ...]:
        return self.inner.functions

    def accepts(self, input: int) -> ChangelogMode | None:
        return self.inner.accepts(input)

    def gives(self, inputs: Sequence[ChangelogMode | None]) -> ChangelogMode | None:
        return self.inner.gives(inputs)

    def build(self) -> Operator:
        return CapturedOperator(self.inner.build(), self.captured)


class CapturedOperator(KeyedOperator):
    """Hands everything to the operator under test, and keeps what it emits."""

    def __init__(self, inner: Operator, captured: Captured) -> None:
        self._inner = inner
        self._captured = captured

    def open(self, node: NodeProgram, context: TaskContext, key_context: KeyContext) -> None:
        self._captured.context, self._captured.key_context = context, key_context
        if node.spec is not None and node.spec.traits.inputs > 1:
            self._inner.input_watermark = self.input_watermark
        self._inner.open(node, context, key_context)

    def bind(self, outputs: Outputs) -> Push:
        """The operator's push, with its output captured."""
        return self._inner.bind(self._capturing(outputs))

    def bind_inputs(self, outputs: Outputs) -> tuple[Push, ...]:
        """The pushes of its inputs, with its output captured."""
        return self._inner.bind_inputs(self._capturing(outputs))

    def _capturing(self, outputs: Outputs) -> CapturingOutputs:
        def push_watermark(watermark: int, idle: bool) -> None:
            if not idle:
                self._captured.watermarks.append(watermark)
            outputs.push_watermark(watermark, idle)

        self._signal = push_watermark
        return CapturingOutputs(self._captured, push_watermark)

    def processors(self) -> tuple[ProcessBlock, ...]:
        """What takes the blocks of each input."""
        return self._keyed.processors() if isinstance(self._inner, KeyedOperator) else ()

    def bind_columns_inputs(self, outputs: Outputs) -> tuple[PushColumns, ...]:
        """The pushes of columns of its inputs, with its output captured."""
        return self._inner.bind_columns_inputs(CapturingOutputs(self._captured, self._signal))

    def column_processors(self) -> tuple[ProcessColumns, ...]:
        """What takes the blocks of columns of each input."""
        return self._keyed.column_processors()

    def process(
        self, keys: list[Any], values: list[Any], timestamps: list[int | None] | None
    ) -> None:
        """Hand on the records of a block."""
        self._keyed.process(keys, values, timestamps)

    def fire(self, timer: Timer, event_time: bool) -> None:
        self._keyed.fire(timer, event_time)

    def finish(self, backend: StateBackend) -> None:
        """Hand on the end of the input."""
        self._keyed.finish(backend)

    @property
    def _keyed(self) -> KeyedOperator:
        assert isinstance(self._inner, KeyedOperator)
        return self._inner

    def watermark(self, watermark: int, idle: bool, push_watermark: PushWatermark) -> None:
        self._inner.watermark(watermark, idle, self._signal)

    def tick(self) -> None:
        self._inner.tick()

    def complete(self) -> None:
        """Let the operator emit what it holds back."""
        self._inner.complete()

    def snapshot(self) -> Any | None:
        """What the operator remembers."""
        return self._inner.snapshot()

    def restore(self, state: Any | None) -> None:
        """Let the operator go on from a snapshot."""
        self._inner.restore(state)

    def close(self) -> None:
        self._inner.close()
