"""Reduces records by key before they are sent, so that one is sent in place of many."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

from headrace.operators import worth
from headrace.runtime.detached import copied
from headrace.runtime.loops import Push, Step, calling, pushing_all
from headrace.runtime.operator import Operator, OperatorSpec, Outputs, Signal, Traits
from headrace.runtime.plain import ATOMS, is_plain, only_atoms
from headrace.runtime.state.backend import MISSING
from headrace.runtime.user_function import UserFunction

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

ISOLATING_NAMES = {
    "atoms": ATOMS,
    "only_atoms": only_atoms,
    "is_plain": is_plain,
    "copied": copied,
}
"""What the lines above call."""

MOST_KEYS = 100_000
"""So many records are sent at once, and others gathered."""


@dataclass(frozen=True)
class CombineSpec(OperatorSpec):
    """What stands before the exchange to a reduction in a batch. ``function`` is associative.

    Records with timestamps pass: the reduction takes them in the order of their time.
    """

    selector: UserFunction
    function: UserFunction
    traits = Traits()
    kind = "combine"

    @property
    def label(self) -> str:
        return "Combine"

    @property
    def functions(self) -> tuple[UserFunction, ...]:
        return (self.selector, self.function)

    def build(self) -> Operator:
        return CombineOperator(self)


class Combining(Operator):
    """What combiners share: they watch whether it pays, and end a task run with nothing held.

    ``step`` keeps a record, or lets it go on within the block of its last line.
    """

    def __init__(self) -> None:
        self._worth = worth.Worth()

    def bind(self, outputs: Outputs) -> Push:
        """The function that takes a single record; in a loop over a chunk, ``step`` does."""
        self._main = outputs.main
        step = self.step()
        assert step is not None, "a combiner is a part of loops"
        push_all = pushing_all((step, calling(outputs.main)), self.node.name)
        return lambda value, timestamp: push_all([value], [timestamp])

    @property
    def combines(self) -> bool:
        """Whether records are combined now."""
        return self._worth.pays

    def complete(self) -> None:
        """Send what is held."""
        self._release()
        self._worth.end_run()

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
        self._came = 0

    def step(self) -> Step:
        """The reduction. A record that is not kept goes on within the block of the last line."""
        names = {
            "node": self.node,
            "key_of": self._spec.selector.bound(),
            "reduce": self._spec.function.bound(),
            "held": self._held,
            "missing": MISSING,
            "operator": self,
            "let_pass": self._let_pass,
            **ISOLATING_NAMES,
        }
        lines = (
            "node = $node",
            "$passes = True",
            "if $combines and timestamp is None:",
            "    $key = $key_of(value)",
            "    if type($key) in $atoms or $is_plain($key):",
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
            prologue=("$combines, $came = $operator.begin()",),
            epilogue=("$operator.pause($came)",),
        )

    def begin(self) -> tuple[bool, int]:
        """Whether records are combined, and how many came so far."""
        return self.combines, self._came

    def pause(self, came: int) -> None:
        """A chunk has ended: send what is held, where it is too much."""
        self._came = came
        if len(self._held) >= MOST_KEYS:
            self._release()

    def _let_pass(self, came: int) -> int:
        """A record will pass: what is held goes before it."""
        self._came = came
        self._release()
        return self._came

    def watermark(self, watermark: int, idle: bool, signal: Signal) -> None:
        """No record may come after the watermark that it came before."""
        self._release()
        signal(watermark, idle)

    def _release(self) -> None:
        held, main = self._held, self._main
        if held:
            self._worth.note(self._came, len(held))
            for value in held.values():
                main(value, None)
            held.clear()
        self._came = 0
