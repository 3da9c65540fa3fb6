"""Event time: the timestamps of records, and the watermarks made from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
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
from headrace.runtime.watermarks import before_the_end

if TYPE_CHECKING:
    from headrace.runtime.columns.batch import Columns, PushColumns

_BEFORE_FIRST = MIN_WATERMARK - 1
_HIGHEST = "highest"


def _stored_max_timestamp(stored: Any) -> int | None:
    """The highest timestamp in what was stored of a generator; None where there is none."""
    if isinstance(stored, BoundedOutOfOrderness):
        return stored.max_timestamp
    return stored[1] if isinstance(stored, tuple) else None


def uses_max_timestamp_only(generator: type[WatermarkGenerator]) -> bool:
    """True when generators of a class use the highest timestamp only. A subclass may use more."""
    return generator in (BoundedOutOfOrderness, MonotonousTimestamps, NoWatermarks)


def _generator_class(factory: Any) -> Any:
    """The class whose objects a factory makes: the factory itself, or that of a ``partial``."""
    return factory.func if isinstance(factory, partial) else factory


@dataclass(frozen=True)
class TimestampsSpec(OperatorSpec):
    """Timestamps and watermarks by a ``WatermarkStrategy``; those of the input are replaced.

    ``emits``: each watermark, or only the last one, which is that of the input's end.
    """

    strategy: WatermarkStrategy
    emits: Emits = "each"
    kind = "timestamps"
    label = "Timestamps/Watermarks"

    @cached_property
    def traits(self) -> Traits:  # type: ignore[override]
        """Columns can pass if a column is the timestamp, and only the highest timestamp matters."""
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
        """What comes."""
        return union(inputs)

    def build(self) -> Operator:
        return TimestampsOperator(self)


class TimestampsOperator(Operator, WatermarkOutput):
    """Runs one watermark generator per split (or per key group, after a keyed stage).

    The coordinator reports when a split is idle. Whether a key group or subtask is idle is found
    here, by the clock of the micro-batch: these run at every tick of the clock.
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
        """Prepare for records."""
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
                # The watermark stands after the record that caused it.
                self._generator.on_event(value, timestamp, self)

        if self._timeout_ms is None:
            return push

        def push_active(value: Any, timestamp: int | None) -> None:
            self._last_record_ms = self.key_context.now_ms
            push(value, timestamp)

        return push_active

    def step(self) -> Step | None:
        """A step that sets the timestamp and keeps the highest one; None where more is needed.

        The generator is given the highest timestamp after the loop over a chunk. That is early
        enough: a generator that uses nothing else emits at ticks only.
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
            lines = [  # ``timestamp_of`` written out: a call less for each record
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
        else:  # ``as_ms`` raises: one comparison more for each record
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
        """A function that gives records the timestamps of their column.

        The generator is given the highest timestamp only, since it uses no other.
        """
        push_row = self.bind(outputs)
        name = timestamp_column_of(self._strategy.timestamp_assigner)

        def push(columns: Columns) -> None:
            timed = columns if name is None else columns.timed_by(name)
            if timed is None:  # the assigner is asked record by record, and may raise
                columns.push_rows(push_row)
                return
            outputs.columns(timed)
            latest_ms = timed.latest_ms()
            if latest_ms is not None and not isinstance(self._generator, NoWatermarks):
                self.set_max_timestamp(max(latest_ms, self.max_timestamp()))

        return push

    def max_timestamp(self) -> int:
        """The highest timestamp that the generator has seen; before the first, one below all."""
        found: int | None = self._generator.max_timestamp
        return _BEFORE_FIRST if found is None else found

    def set_max_timestamp(self, timestamp: int) -> None:
        """Set the highest timestamp that the generator has seen."""
        if timestamp > _BEFORE_FIRST:
            self._generator.max_timestamp = timestamp

    def tick(self) -> None:
        """Let the generator emit, or mark the stream idle if no record came for too long."""
        if self._is_timed_out():
            self.mark_idle()
        else:
            self._generator.on_periodic_emit(self)

    def _is_timed_out(self) -> bool:
        if self._timeout_ms is None or not self.key_context.clocked:
            return False
        now_ms = self.key_context.now_ms
        if self._last_record_ms is None:
            self._last_record_ms = now_ms  # nothing came yet: the wait begins
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

    # What a watermark generator calls.

    def emit_watermark(self, watermark: Watermark | int) -> None:
        """Emit a watermark (ms); one that does not rise is ignored.

        Raises:
            TypeMismatchError: it is after the last moment.
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
        """Do not hold others back until the next watermark."""
        if not self._is_idle:
            self._is_idle = True
            self._signal(self._last_watermark, True)

    def mark_active(self) -> None:
        """Hold others back again."""
        if self._is_idle:
            self._is_idle = False
            self._signal(self._last_watermark, False)

    def snapshot(self) -> Any:
        """What the generator keeps, its last watermark, its idleness and its last activity.

        A generator of Headrace's own is stored as ``("highest", timestamp)``, a user's as it is.
        """
        return (self._generator_state(), self._last_watermark, self._is_idle, self._last_record_ms)

    def _generator_state(self) -> Any:
        if self._is_user_generator:
            return self._generator
        return (_HIGHEST, getattr(self._generator, "max_timestamp", None))

    def reopen(self) -> None:
        self._last_watermark = before_the_end(self._last_watermark)

    def restore(self, state: Any | None) -> None:
        """Go on with the generator of a snapshot, or start a new one."""
        if state is None:
            state = (None, MIN_WATERMARK, False, None)
        stored, self._last_watermark, self._is_idle, self._last_record_ms = state
        if isinstance(stored, WatermarkGenerator) and self._is_user_generator:
            self._generator = stored
            return
        # The strategy may have changed: a new generator has the bound that holds now.
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
