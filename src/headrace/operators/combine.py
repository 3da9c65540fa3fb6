"""Reduces records by key before they are sent, so that one is sent in place of many."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from headrace.operators import combine_policy as worth
from headrace.operators.aggregates.aggregate import OfRecords, reduction_of
from headrace.runtime.columns.selectors import key_columns
from headrace.runtime.detached import copied
from headrace.runtime.exchange.steps import WithKey, typed
from headrace.runtime.keys.key_groups import EXACT, has_stable_hash, only_exact
from headrace.runtime.loops import Push, Step, calling, pushing_all
from headrace.runtime.operator import Operator, OperatorSpec, Outputs, Signal, Traits
from headrace.runtime.plain import ATOMS, is_plain, only_atoms
from headrace.runtime.state.backend import MISSING
from headrace.runtime.user_function import UserFunction

if TYPE_CHECKING:
    from headrace.operators.combine_columns import CombinedColumns
    from headrace.runtime.columns.batch import Columns, PushColumns

ISOLATING = (
    # Few fields are looked at one by one, at half the price.
    "$kind, $plain = type(value), False",
    "if $kind is tuple:",
    "    $size = len(value)",
    "    if $size == 3:",
    "        $a, $b, $c = value",
    "        $plain = type($a) in $atoms and type($b) in $atoms and type($c) in $atoms",
    "    elif $size == 2:",
    "        $a, $b = value",
    "        $plain = type($a) in $atoms and type($b) in $atoms",
    "    else: $plain = $only_atoms(map(type, value))",
    "else: $plain = $kind in $atoms",
    "if not $plain and not $is_plain(value): value = $copied(value)",
)
"""Lines that take a copy of a record which whoever made it may change afterwards."""


def is_combinable(key: Any) -> bool:
    """Whether records may be combined by a key in a dictionary, which compares it as Python does.

    Not if it goes by its form (``runtime/keys/serialized_key.py``), or if somebody may still
    change it.
    """
    if type(key) is tuple and only_exact(map(type, key)):
        return True
    return is_plain(key) and has_stable_hash(key)


STEP_NAMES = {
    "atoms": ATOMS,
    "exact": EXACT,
    "only_atoms": only_atoms,
    "is_plain": is_plain,
    "is_combinable": is_combinable,
    "copied": copied,
}
"""What the lines above, and those that look at a key, call."""

MOST_KEYS = 100_000
"""With this many keys or more, what is kept is sent."""


@dataclass(frozen=True)
class CombineSpec(OperatorSpec):
    """What stands before the exchange to a reduction in a batch. ``function`` is associative.

    Records with timestamps pass: the reduction takes them in the order of their time.
    """

    selector: UserFunction
    function: UserFunction
    key_type: Any = None
    kind = "combine"
    label = "Combine"

    @property
    def fold(self) -> OfRecords | None:
        """What the function does, where columns can do it."""
        return reduction_of(self.function)

    @cached_property
    def traits(self) -> Traits:  # type: ignore[override]
        """It takes columns where it can fold them, and find the keys in them."""
        return Traits(takes_columns=self.fold is not None and self.key_columns is not None)

    @property
    def key_columns(self) -> tuple[str, ...] | None:
        """The columns that hold the key, if the selector names them."""
        return key_columns(self.selector, self.key_type)

    def build(self) -> Operator:
        return CombineOperator(self)


class Combining(Operator):
    """What combiners share: they watch whether it pays, and send all they keep as a task run ends.

    ``step`` keeps a record, or lets it go on within the block of its last line.
    """

    def __init__(self) -> None:
        self._worth = worth.CombinePolicy()

    def bind(self, outputs: Outputs) -> Push:
        """The function that takes a single record; in a loop over a chunk, ``step`` does."""
        self._main = outputs.main
        step = self.step()
        assert step is not None, "a combiner is a part of loops"
        push_all = pushing_all((step, calling(outputs.main)), self.node.name)
        return lambda value, timestamp: push_all([value], [timestamp])

    def begin(self, count: int) -> bool:
        """Whether a chunk of so many records is combined."""
        return self._worth.begin(count)

    def complete(self) -> None:
        """Send what is held."""
        self._release()

    def restore(self, state: Any | None) -> None:
        """A split's records begin; those that a failed call left are dropped: they come again."""
        self._drop()

    @abstractmethod
    def _drop(self) -> None:
        """Forget what is held, and the watermarks that wait for it."""

    @abstractmethod
    def _release(self) -> None:
        """Send what is held, with the watermarks that waited for it."""


class CombineOperator(Combining):
    """Keeps one record for each key, until the task run ends or there are too many.

    A record that passes comes after what was kept before.
    """

    def __init__(self, spec: CombineSpec) -> None:
        super().__init__()
        self._spec = spec
        self._held: dict[Any, Any] = {}
        self.came = 0
        """How many records what is held stands for."""
        self._columns: CombinedColumns | None = None
        """What is held as columns; then no record is held, and the other way round."""

    def bind_columns(self, outputs: Outputs) -> PushColumns:
        from headrace.operators.combine_columns import CombinedColumns

        fold, names = self._spec.fold, self._spec.key_columns
        assert fold is not None and names is not None
        held = self._columns = CombinedColumns(fold, names)
        self._outputs = outputs

        def push(columns: Columns) -> None:
            fitting = held.fitting(columns) if self._worth.begin(len(columns)) else None
            if self._held or fitting is None or not held.takes(fitting):
                self._release()
            if fitting is None:
                outputs.columns(columns)
                return
            held.add(fitting)
            if held.keys >= MOST_KEYS:
                self._release()

        return push

    def step(self) -> Step:
        """The reduction. A record that is not kept goes on within the block of the last line."""
        names = {
            "node": self.node,
            "key_of": typed(self._spec.selector.bound(), self._spec.key_type),
            "reduce": self._spec.function.bound(),
            "held": self._held,
            "missing": MISSING,
            "operator": self,
            "let_pass": self._let_pass,
            **STEP_NAMES,
        }
        lines = (
            "node = $node",
            "$passes = True",
            "if $combines and timestamp is None:",
            "    $key = $key_of(value)",
            "    if type($key) in $exact or $is_combinable($key):",
            "        $passes = False",
            "        $before = $held.get($key, $missing)",
            "        if $before is not $missing: value = $reduce($before, value)",
            *("        " + line for line in ISOLATING),
            "        $held[$key] = value",
            "        $came += 1",
            "if $passes:",
            "    if $held: $came = $let_pass($came)",
            "    if True:",
        )
        return Step(
            lines,
            names,
            prologue=("$combines, $came = $operator.begin(len(values)), $operator.came",),
            epilogue=("$operator.pause($came)",),
        )

    def begin(self, count: int) -> bool:
        """Whether a chunk of so many records is combined."""
        if self._columns:
            self._release()  # they came before the records
        return super().begin(count)

    def pause(self, came: int) -> None:
        """A chunk has ended: send what is held, where it is too much."""
        self.came = came
        if len(self._held) >= MOST_KEYS:
            self._release()

    def _let_pass(self, came: int) -> int:
        """A record will pass: what is held goes before it."""
        self.came = came
        self._release()
        return self.came

    def watermark(self, watermark: int, idle: bool, signal: Signal) -> None:
        """No record may come after the watermark that it came before."""
        self._release()
        signal(watermark, idle)

    def _drop(self) -> None:
        self._held.clear()
        self.came = 0
        if self._columns is not None:
            self._columns.drop()

    def _release(self) -> None:
        held, main = self._held, self._main
        if held:
            self._worth.note(self.came, len(held))
            for key, value in held.items():
                main(WithKey(key, value), None)
            held.clear()
        self.came = 0
        columns = self._columns
        if columns:
            came = columns.came
            for sent in columns.released():
                self._worth.note(came, len(sent))
                self._outputs.columns(sent)
