"""An operator wrapped so that a test can read its records, timestamps and watermarks."""

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
    """The output of an operator, and the contexts that it was opened with."""

    main: Emitted = field(default_factory=list)
    side_outputs: dict[str, Emitted] = field(default_factory=dict)
    watermarks: list[int] = field(default_factory=list)
    context: TaskContext | None = None
    key_context: KeyContext | None = None
    cleared: int = 0
    """The number of records that ``clear`` has dropped."""

    @property
    def records(self) -> int:
        """The number of records emitted so far to all outputs, with those that were cleared."""
        return self.cleared + len(self.main) + sum(map(len, self.side_outputs.values()))

    def clear(self) -> None:
        """Drop the captured output."""
        self.cleared = self.records
        self.main.clear()
        self.side_outputs.clear()
        self.watermarks.clear()


class CapturingOutputs(Outputs):
    """Captures what is emitted, to the main output and to every side output."""

    __slots__ = ("_captured",)

    def __init__(self, captured: Captured, push_watermark: PushWatermark) -> None:
        super().__init__(_append_to(captured.main), {}, push_watermark)
        self._captured = captured

    def side(self, tag_id: str) -> Push:
        side_outputs = self._captured.side_outputs

        def push(value: Any, timestamp: int | None) -> None:
            # Looked up for each record, because the test may have cleared the output.
            side_outputs.setdefault(tag_id, []).append((copy_record(value), timestamp))

        return push


def _append_to(emitted: Emitted) -> Push:
    def push(value: Any, timestamp: int | None) -> None:
        emitted.append((copy_record(value), timestamp))

    return push


class CapturedWatermarks(WatermarkOutput):
    """Captures what a watermark generator emits."""

    def __init__(self) -> None:
        self.emitted: list[int] = []

    def emit_watermark(self, watermark: Watermark | int) -> None:
        """Capture a watermark (ms)."""
        self.emitted.append(watermark if isinstance(watermark, int) else watermark.timestamp)

    def mark_idle(self) -> None:
        """Do nothing: there is no other input."""

    def mark_active(self) -> None:
        """Do nothing: there is no other input."""


@dataclass(frozen=True)
class CapturedSpec(OperatorSpec):
    """Wraps the spec of the operator under test; traits and functions are the same."""

    inner: OperatorSpec
    captured: Captured

    @property
    def traits(self) -> Traits:  # type: ignore[override]
        """The traits of the operator under test."""
        return self.inner.traits

    @property
    def kind(self) -> str:  # type: ignore[override]
        """The kind of the operator under test."""
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
    """Passes all calls to the operator under test, and captures what it emits."""

    def __init__(self, inner: Operator, captured: Captured) -> None:
        self._inner = inner
        self._captured = captured

    def open(self, node: NodeProgram, context: TaskContext, key_context: KeyContext) -> None:
        self._captured.context, self._captured.key_context = context, key_context
        if node.spec is not None and node.spec.traits.inputs > 1:
            self._inner.input_watermark = self.input_watermark
        self._inner.open(node, context, key_context)

    def bind(self, outputs: Outputs) -> Push:
        return self._inner.bind(self._make_capturing_outputs(outputs))

    def bind_inputs(self, outputs: Outputs) -> tuple[Push, ...]:
        return self._inner.bind_inputs(self._make_capturing_outputs(outputs))

    def _make_capturing_outputs(self, outputs: Outputs) -> CapturingOutputs:
        def push_watermark(watermark: int, idle: bool) -> None:
            if not idle:
                self._captured.watermarks.append(watermark)
            outputs.push_watermark(watermark, idle)

        self._signal = push_watermark
        return CapturingOutputs(self._captured, push_watermark)

    def processors(self) -> tuple[ProcessBlock, ...]:
        return self._keyed.processors() if isinstance(self._inner, KeyedOperator) else ()

    def bind_columns_inputs(self, outputs: Outputs) -> tuple[PushColumns, ...]:
        return self._inner.bind_columns_inputs(CapturingOutputs(self._captured, self._signal))

    def column_processors(self) -> tuple[ProcessColumns, ...]:
        return self._keyed.column_processors()

    def process(
        self, keys: list[Any], values: list[Any], timestamps: list[int | None] | None
    ) -> None:
        self._keyed.process(keys, values, timestamps)

    def fire_timer(self, timer: Timer, is_event_time: bool) -> None:
        self._keyed.fire_timer(timer, is_event_time)

    def take_converted_state(self) -> None:
        if isinstance(self._inner, KeyedOperator):
            self._inner.take_converted_state()

    def finish(self, backend: StateBackend) -> None:
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
        self._inner.complete()

    def snapshot(self) -> Any | None:
        return self._inner.snapshot()

    def restore(self, state: Any | None) -> None:
        self._inner.restore(state)

    def close(self) -> None:
        self._inner.close()
