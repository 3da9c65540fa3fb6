"""The operator that assigns timestamps and generates watermarks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from headrace.common._timestamp_values import as_ms
from headrace.common._watermark_generators import (
    BoundedOutOfOrderness,
    MonotonousTimestamps,
    NoWatermarks,
    out_of_range,
)
from headrace.common.changelog_mode import ChangelogMode, union
from headrace.common.watermark_strategy import (
    MAX_WATERMARK,
    MIN_WATERMARK,
    Watermark,
    WatermarkGenerator,
    WatermarkOutput,
    WatermarkStrategy,
)
from headrace.errors import PlanError
from headrace.runtime.columns.selectors import timestamp_column_of
from headrace.runtime.context import TaskContext
from headrace.runtime.loops import Push, Step
from headrace.runtime.operator import (
    Emits,
    NodeProgram,
    Operator,
    OperatorSpec,
    Outputs,
    PushWatermark,
    Traits,
)
from headrace.runtime.state.handles import KeyContext
from headrace.runtime.watermarks import reopened_watermark

if TYPE_CHECKING:
    from headrace.runtime.columns.batch import Columns, PushColumns

_BEFORE_FIRST = MIN_WATERMARK - 1
_HIGHEST = "highest"

_MAX_CUTS = 64
"""The most watermarks within columns. With more late records, a part of them is not found late."""


def _stored_max_timestamp(stored: Any) -> int | None:
    """Return the maximum timestamp in a stored generator state; None if there is none."""
    if isinstance(stored, BoundedOutOfOrderness):
        return stored.max_timestamp
    return stored[1] if isinstance(stored, tuple) else None


def uses_max_timestamp_only(generator: type[WatermarkGenerator]) -> bool:
    """Return whether a generator class (no subclass) depends on the maximum timestamp only."""
    return generator in (BoundedOutOfOrderness, MonotonousTimestamps, NoWatermarks)


def _generator_class(factory: Any) -> Any:
    """Return the class of a factory's objects: the factory itself, or that of a ``partial``."""
    return factory.func if isinstance(factory, partial) else factory


@dataclass(frozen=True)
class TimestampsSpec(OperatorSpec):
    """Assigns timestamps and watermarks by a ``WatermarkStrategy``, in place of those of the input.

    ``emits``: each watermark, or only the last one, at the end of the input.
    """

    strategy: WatermarkStrategy
    emits: Emits = "each"
    kind = "timestamps"
    label = "Timestamps/Watermarks"

    @cached_property
    def traits(self) -> Traits:  # type: ignore[override]
        """Columns can pass if the timestamp is a column and the generator uses the maximum only."""
        strategy = self.strategy
        assigner = strategy.timestamp_assigner
        by_column = assigner is None or timestamp_column_of(assigner) is not None
        passes = by_column and strategy.idle_timeout_ms is None
        return Traits(
            assigns_time=True,
            passes_columns=passes
            and uses_max_timestamp_only(_generator_class(strategy.generator_factory)),
        )

    @property
    def why_rows(self) -> str:
        strategy = self.strategy
        if not uses_max_timestamp_only(_generator_class(strategy.generator_factory)):
            return "a watermark generator of the user sees each record"
        if strategy.idle_timeout_ms is not None:
            return "idleness is found record by record"
        return "the timestamp is computed from each record"

    def gives(self, inputs: Sequence[ChangelogMode | None]) -> ChangelogMode | None:
        """Return the kinds of the input."""
        return union(inputs)

    def build(self) -> Operator:
        return TimestampsOperator(self)


class TimestampsOperator(Operator, WatermarkOutput):
    """Runs one watermark generator per split, or per key group after a keyed stage.

    Idleness of splits is reported by the coordinator. Idleness of key groups and subtasks is
    detected here, by the time of the micro-batch.
    """

    one_to_one = True

    def __init__(self, spec: TimestampsSpec) -> None:
        self._strategy = spec.strategy
        self._step_class: type[WatermarkGenerator] | None = None
        self._is_user_generator = False
        self._generator: Any = None
        self._last_watermark = MIN_WATERMARK
        self._is_idle = False
        self._emits_last_only = spec.emits == "last"
        self._timeout_ms = spec.strategy.idle_timeout_ms
        self._last_record_ms: int | None = None

    def open(self, node: NodeProgram, context: TaskContext, key_context: KeyContext) -> None:
        super().open(node, context, key_context)
        self.restore(None)
        self._is_user_generator = not uses_max_timestamp_only(type(self._generator))

    def bind(self, outputs: Outputs) -> Push:
        down, node = outputs.main, self.node
        self._signal = outputs.push_watermark
        timestamp_of = self._strategy.timestamp_of

        def push(value: Any, timestamp: int | None, node: Any = node) -> None:
            if timestamp_of is not None:
                timestamp = timestamp_of(value, timestamp)
            down(value, timestamp)
            if timestamp is not None:
                # A watermark comes after the record that caused it.
                self._generator.on_event(value, timestamp, self)

        def push_before_late(value: Any, timestamp: int | None, node: Any = node) -> None:
            if timestamp is not None and self._generator.makes_late(timestamp):
                self._generator.on_periodic_emit(self)
            push(value, timestamp)

        pushed = push_before_late if hasattr(self._generator, "makes_late") else push
        if self._timeout_ms is None:
            return pushed

        def push_active(value: Any, timestamp: int | None) -> None:
            self._last_record_ms = self.key_context.now_ms
            pushed(value, timestamp)

        return push_active

    def step(self) -> Step | None:
        """Return a step that assigns timestamps and tracks the maximum; None if not sufficient.

        The generator gets the maximum after the loop over a chunk. That is in time, as such a
        generator emits only in ``tick``.
        """
        kind = type(self._generator)
        if self._timeout_ms is not None or not uses_max_timestamp_only(kind):
            return None
        self._step_class = kind
        names = {"node": self.node, "operator": self}
        lines = []
        extraction = self._strategy.extraction
        if extraction is not None:
            names |= {"extract": extraction[0], "as_ms": as_ms}
            names |= {"first": MIN_WATERMARK, "last": MAX_WATERMARK}
            so_far = ", $first if timestamp is None else timestamp" if extraction[1] else ""
            lines = [  # ``timestamp_of``, inlined
                "node = $node",
                f"timestamp = $extract(value{so_far})",
                "if type(timestamp) is not int: timestamp = $as_ms(timestamp, value)",
            ]
        if kind is NoWatermarks:
            if extraction is not None:
                lines.append("if not $first <= timestamp <= $last: $as_ms(timestamp, value)")
            return Step((*lines,) or ("pass",), names, forwards_record=True)
        if extraction is None:
            lines = ["if timestamp is not None and timestamp > $highest: $highest = timestamp"]
        else:  # out of range: ``as_ms`` raises
            lines += [
                "if timestamp > $highest:",
                "    if timestamp > $last: $as_ms(timestamp, value)",
                "    $highest = timestamp",
                "elif timestamp < $first: $as_ms(timestamp, value)",
            ]
        return Step(
            tuple(lines),
            names,
            prologue=("$highest = $operator.max_timestamp()",),
            epilogue=("$operator.set_max_timestamp($highest)",),
            forwards_record=True,
        )

    def bind_columns(self, outputs: Outputs) -> PushColumns:
        """Return a push that sets the timestamps of columns and updates the generator's maximum."""
        push_row = self.bind(outputs)
        name = timestamp_column_of(self._strategy.timestamp_assigner)

        def push(columns: Columns) -> None:
            timed = columns if name is None else columns.with_times_of_column(name)
            if timed is None:  # record by record: the assigner may raise
                columns.push_rows(push_row)
                return
            cuts = [] if self._emits_last_only else self._find_cuts(timed)
            for start, stop in pairwise((*sorted({0, *cuts}), len(timed))):
                if start in cuts:
                    self._generator.on_periodic_emit(self)
                part = timed[start:stop] if cuts else timed
                outputs.columns(part)
                latest_ms = part.latest_ms()
                if latest_ms is not None and not isinstance(self._generator, NoWatermarks):
                    self.set_max_timestamp(max(latest_ms, self.max_timestamp()))

        return push

    def _find_cuts(self, columns: Columns) -> list[int]:
        """Return the rows before which the generator emits a watermark that makes them late."""
        times, generator = columns.times, self._generator
        if not getattr(generator, "before_late", False) or not times or times.null_count:
            return []
        import numpy as np

        at = times.to_numpy()
        first = at[0] if generator.max_timestamp is None else generator.max_timestamp
        latest = np.maximum.accumulate(np.concatenate([[first], at[:-1]]))
        # Rows of equal times are not parted: many have the same, and few windows end there.
        rows = np.flatnonzero(latest - at > max(generator.bound_ms, 0))
        if not len(rows):
            return []
        rows = rows[np.diff(latest[rows], prepend=latest[rows[0]] - 1) > 0]
        found: list[int] = rows[:: -(-len(rows) // _MAX_CUTS)].tolist()
        return found

    def max_timestamp(self) -> int:
        """Return the maximum timestamp that the generator has seen; at first less than any."""
        current: int | None = self._generator.max_timestamp
        return _BEFORE_FIRST if current is None else current

    def set_max_timestamp(self, timestamp: int) -> None:
        """Set the maximum timestamp that the generator has seen."""
        if timestamp > _BEFORE_FIRST:
            self._generator.max_timestamp = timestamp

    def tick(self) -> None:
        """Let the generator emit, or mark the stream idle after a timeout without records."""
        if self._is_timed_out():
            self.mark_idle()
        else:
            self._generator.on_periodic_emit(self)

    def _is_timed_out(self) -> bool:
        if self._timeout_ms is None or not self.key_context.clocked:
            return False
        now_ms = self.key_context.now_ms
        if self._last_record_ms is None:
            self._last_record_ms = now_ms  # the timeout starts now
        return (
            self._last_watermark < MAX_WATERMARK
            and now_ms - self._last_record_ms >= self._timeout_ms
        )

    def watermark(self, watermark: int, idle: bool, push_watermark: PushWatermark) -> None:
        """Drop the input's watermarks, except the last one. Pass idleness on."""
        if watermark >= MAX_WATERMARK:
            self._last_watermark = watermark
            push_watermark(watermark, idle)
        elif (idle := idle or self._is_timed_out()) != self._is_idle or watermark == MIN_WATERMARK:
            self._is_idle = idle
            push_watermark(self._last_watermark, idle)

    # The methods of WatermarkOutput, for the generator.

    def emit_watermark(self, watermark: Watermark | int) -> None:
        """Emit a watermark (ms); one that does not rise is ignored.

        Raises:
            TypeMismatchError: the watermark is out of range.
        """
        moment = watermark if isinstance(watermark, int) else watermark.timestamp
        if moment > self._last_watermark and not self._emits_last_only:
            if moment > MAX_WATERMARK:
                operator = f"{self.node.name}, built at {self.node.site}"
                raise out_of_range(
                    "a watermark generator emitted the watermark", moment, {"operator": operator}
                )
            self._last_watermark = moment
            self._is_idle = False
            self._signal(moment, False)

    def mark_idle(self) -> None:
        """Mark the stream idle until the next watermark: it does not hold back other streams."""
        if not self._is_idle:
            self._is_idle = True
            self._signal(self._last_watermark, True)

    def mark_active(self) -> None:
        """Mark the stream active again."""
        if self._is_idle:
            self._is_idle = False
            self._signal(self._last_watermark, False)

    def snapshot(self) -> Any:
        """Return the generator's state, the last watermark, idleness, and the last record's time.

        The state of a built-in generator is ``("highest", timestamp)``, a user's generator is
        stored itself.
        """
        return (self._generator_state(), self._last_watermark, self._is_idle, self._last_record_ms)

    def _generator_state(self) -> Any:
        if self._is_user_generator:
            return self._generator
        return (_HIGHEST, getattr(self._generator, "max_timestamp", None))

    def reopen(self) -> None:
        self._last_watermark = reopened_watermark(self._last_watermark)

    def restore(self, state: Any | None) -> None:
        """Restore a generator's state, or start a new one."""
        if state is None:
            state = (None, MIN_WATERMARK, False, None)
        stored, self._last_watermark, self._is_idle, self._last_record_ms = state
        if isinstance(stored, WatermarkGenerator) and self._is_user_generator:
            self._generator = stored
            return
        # The strategy may have changed: the new generator has its current bound.
        generator = self._strategy.create_generator()
        if self._step_class is not None and type(generator) is not self._step_class:
            raise PlanError(
                f"a factory made a {type(generator).__name__} and a {self._step_class.__name__}",
                where={"operator": f"{self.node.name}, built at {self.node.site}"},
                hint="a watermark strategy's generators must be of one class",
            )
        if isinstance(generator, BoundedOutOfOrderness):
            generator.max_timestamp = _stored_max_timestamp(stored)
        self._generator = generator
