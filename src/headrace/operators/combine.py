"""Pre-aggregation: records are reduced by key before a key exchange, so that fewer are sent."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from headrace.operators.aggregates.aggregate import RecordFold, reduction_of
from headrace.operators.combine_policy import CombinePolicy
from headrace.runtime.columns.selectors import key_columns
from headrace.runtime.exchange.steps import ValueWithKey, typed_selector
from headrace.runtime.immutability import ATOMIC_TYPES, all_atomic, is_immutable
from headrace.runtime.keys.key_groups import EXACT, has_stable_hash, only_exact
from headrace.runtime.loops import Push, Step, call_step, compile_push_all
from headrace.runtime.operator import Operator, OperatorSpec, Outputs, PushWatermark, Traits
from headrace.runtime.record_copies import copy_record
from headrace.runtime.state.backend import MISSING
from headrace.runtime.user_function import UserFunction

if TYPE_CHECKING:
    from headrace.operators.combine_columns import ColumnCombiner
    from headrace.runtime.columns.batch import Columns, PushColumns

COPY_IF_MUTABLE = (
    # Up to three fields are checked inline, which takes half the time.
    "$kind, $plain = type(value), False",
    "if $kind is tuple:",
    "    $size = len(value)",
    "    if $size == 3:",
    "        $a, $b, $c = value",
    "        $plain = type($a) in $atoms and type($b) in $atoms and type($c) in $atoms",
    "    elif $size == 2:",
    "        $a, $b = value",
    "        $plain = type($a) in $atoms and type($b) in $atoms",
    "    else: $plain = $all_atomic(map(type, value))",
    "else: $plain = $kind in $atoms",
    "if not $plain and not $is_immutable(value): value = $copy_record(value)",
)
"""Lines of a step that copy a value which its producer may still change."""


def is_combinable(key: Any) -> bool:
    """Return whether records of a key may be combined with the key in a dictionary.

    False if the key is mutable, or the exchange compares keys by their serialized form
    (``runtime/keys/serialized_key.py``).
    """
    if type(key) is tuple and only_exact(map(type, key)):
        return True
    return is_immutable(key) and has_stable_hash(key)


STEP_FUNCTIONS = {
    "atoms": ATOMIC_TYPES,
    "exact": EXACT,
    "all_atomic": all_atomic,
    "is_immutable": is_immutable,
    "is_combinable": is_combinable,
    "copy_record": copy_record,
}
"""The functions that ``COPY_IF_MUTABLE``, and the checks of keys, call."""

MAX_KEYS = 100_000
"""Flush when this many keys are buffered."""


@dataclass(frozen=True)
class CombineSpec(OperatorSpec):
    """Stands before the exchange to a batch reduction. ``function`` is associative.

    Records with timestamps are passed on: the reduction takes them in the order of their
    timestamps.
    """

    selector: UserFunction
    function: UserFunction
    key_type: Any = None
    kind = "combine"
    label = "Combine"

    @property
    def fold(self) -> RecordFold | None:
        """The function as a fold, if columns can be folded."""
        return reduction_of(self.function)

    @cached_property
    def traits(self) -> Traits:  # type: ignore[override]
        """Takes columns if they can be folded, and contain the key."""
        return Traits(takes_columns=self.fold is not None and self.key_columns is not None)

    @property
    def key_columns(self) -> tuple[str, ...] | None:
        """The columns of the key, if the selector names them."""
        return key_columns(self.selector, self.key_type)

    def build(self) -> Operator:
        return CombineOperator(self)


class CombiningOperator(Operator):
    """Base class of combiners. It uses a ``CombinePolicy``, and flushes at the end of a task run.

    The step of a combiner buffers a record, or passes it on within the block of its last line.
    """

    def __init__(self) -> None:
        self._policy = CombinePolicy()

    def bind(self, outputs: Outputs) -> Push:
        """Return the push for a single record; loops over chunks use ``step``."""
        self._main = outputs.main
        step = self.step()
        assert step is not None, "a combiner is a part of loops"
        push_all = compile_push_all((step, call_step(outputs.main)), self.node.name)
        return lambda value, timestamp: push_all([value], [timestamp])

    def begin_chunk(self, count: int) -> bool:
        """Return whether to combine the next chunk, of ``count`` records."""
        return self._policy.should_combine(count)

    def complete(self) -> None:
        """Flush."""
        self._flush()

    def restore(self, state: Any | None) -> None:
        """Discard the records of a failed task run: they are read again."""
        self._discard()

    @abstractmethod
    def _discard(self) -> None:
        """Remove all that is buffered, records and watermarks."""

    @abstractmethod
    def _flush(self) -> None:
        """Send all that is buffered, records before the watermarks that wait for them."""


class CombineOperator(CombiningOperator):
    """Buffers one reduced record per key, until the task run ends or ``MAX_KEYS`` is reached.

    Before a record is passed on, the buffer is flushed, so the order of records is kept.
    """

    def __init__(self, spec: CombineSpec) -> None:
        super().__init__()
        self._spec = spec
        self._reduced: dict[Any, Any] = {}
        self.received = 0
        """How many records the buffered ones stand for."""
        self._column_combiner: ColumnCombiner | None = None
        """Buffers columns. Only one of this buffer and that of records is in use at a time."""

    def bind_columns(self, outputs: Outputs) -> PushColumns:
        from headrace.operators.combine_columns import ColumnCombiner

        fold, names = self._spec.fold, self._spec.key_columns
        assert fold is not None and names is not None
        column_combiner = self._column_combiner = ColumnCombiner(fold, names)
        self._outputs = outputs

        def push(columns: Columns) -> None:
            foldable = (
                column_combiner.foldable(columns)
                if self._policy.should_combine(len(columns))
                else None
            )
            if self._reduced or foldable is None or not column_combiner.can_add(foldable):
                self._flush()
            if foldable is None:
                outputs.columns(columns)
                return
            column_combiner.add(foldable)
            if column_combiner.keys >= MAX_KEYS:
                self._flush()

        return push

    def step(self) -> Step:
        names = {
            "node": self.node,
            "key_of": typed_selector(self._spec.selector.as_callable(), self._spec.key_type),
            "reduce": self._spec.function.as_callable(),
            "reduced": self._reduced,
            "missing": MISSING,
            "operator": self,
            "flush_before": self._flush_before,
            **STEP_FUNCTIONS,
        }
        lines = (
            "node = $node",
            "$passes = True",
            "if $combines and timestamp is None:",
            "    $key = $key_of(value)",
            "    if type($key) in $exact or $is_combinable($key):",
            "        $passes = False",
            "        $previous = $reduced.get($key, $missing)",
            "        if $previous is not $missing: value = $reduce($previous, value)",
            *("        " + line for line in COPY_IF_MUTABLE),
            "        $reduced[$key] = value",
            "        $received += 1",
            "if $passes:",
            "    if $reduced: $received = $flush_before($received)",
            "    if True:",
        )
        return Step(
            lines,
            names,
            prologue=(
                "$combines, $received = $operator.begin_chunk(len(values)), $operator.received",
            ),
            epilogue=("$operator.end_chunk($received)",),
        )

    def begin_chunk(self, count: int) -> bool:
        """Return whether to combine the next chunk, of ``count`` records.

        Buffered columns are flushed first.
        """
        if self._column_combiner:
            self._flush()  # columns came before these records
        return super().begin_chunk(count)

    def end_chunk(self, received: int) -> None:
        """Keep the number of records received, and flush if there are too many keys."""
        self.received = received
        if len(self._reduced) >= MAX_KEYS:
            self._flush()

    def _flush_before(self, received: int) -> int:
        """Flush, as a record is going to be passed on. Return 0, the number of buffered records."""
        self.received = received
        self._flush()
        return self.received

    def watermark(self, watermark: int, idle: bool, push_watermark: PushWatermark) -> None:
        """Flush the buffered records, then pass the watermark on."""
        self._flush()
        push_watermark(watermark, idle)

    def _discard(self) -> None:
        self._reduced.clear()
        self.received = 0
        if self._column_combiner is not None:
            self._column_combiner.clear()

    def _flush(self) -> None:
        reduced, main = self._reduced, self._main
        if reduced:
            self._policy.add_sample(self.received, len(reduced))
            for key, value in reduced.items():
                main(ValueWithKey(key, value), None)
            reduced.clear()
        self.received = 0
        columns = self._column_combiner
        if columns:
            received = columns.received
            for result in columns.flush():
                self._policy.add_sample(received, len(result))
                self._outputs.columns(result)
