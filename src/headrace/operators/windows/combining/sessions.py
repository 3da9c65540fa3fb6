"""The first of two phases of sessions: records of a key that follow each other become one.

What is sent is a piece of a session, with its start and end; the receiver joins pieces as it joins
records. Some pieces could join a session that the receiver has, and that a watermark ends. Such a
piece is sent before that watermark, and a record that comes later is sent alone, after it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.common.watermark_strategy import MAX_WATERMARK, MIN_WATERMARK
from headrace.operators.combine import COPY_IF_MUTABLE, MAX_KEYS, STEP_FUNCTIONS
from headrace.operators.windows.combining.combine import (
    CombineContents,
    CombineContentsSpec,
    fold_names,
)
from headrace.operators.windows.partial_aggregates import AccumulatorBatch
from headrace.runtime.loops import Step
from headrace.runtime.operator import Operator, Signal

Piece = list[Any]
"""Start, end (ms, exclusive), the accumulator, and how many records it stands for."""


@dataclass(frozen=True)
class CombineSessionsSpec(CombineContentsSpec):
    """Before sessions with one value and a fixed gap (ms)."""

    gap_ms: int
    kind = "combine-sessions"

    def build(self) -> Operator:
        return CombineSessionsOperator(self)


class CombineSessionsOperator(CombineContents):
    """Keeps the latest piece of each key, until the task run ends or it is too much."""

    def __init__(self, spec: CombineSessionsSpec) -> None:
        super().__init__(spec)
        self._spec = spec
        self._pieces: dict[Any, Piece] = {}
        self._aside: list[tuple[Any, Piece]] = []
        """Pieces that a later one of their key took the place of."""
        self._before: list[tuple[list[tuple[Any, Piece]], int]] = []
        """Pieces that go before a watermark, with that watermark; in turn."""
        self.reached = MIN_WATERMARK
        self._waiting: int | None = None
        """A watermark that waits, and that none of the pieces must go before."""

    def step(self) -> Step:
        """The folding. A record that is not kept goes on within the block of the last line."""
        first, folded, functions = fold_names(self._spec.contents, "$piece[2]")
        names = {
            **functions,
            "node": self.node,
            "key_of": self.key_of(),
            "gap": self._spec.gap_ms,
            "pieces": self._pieces,
            "aside": self._aside,
            "before": self._before,
            "operator": self,
            "flush": self._flush,
            "flush_if_full": self._flush_if_full,
            **STEP_FUNCTIONS,
        }
        lines = (
            "node = $node",
            "$passes = True",
            "if $combines and timestamp is not None:",
            "    if timestamp > $after:",
            "        $end = timestamp + $gap",
            "        $key = $key_of(value)",
            "        if type($key) in $exact or $is_combinable($key):",
            "            $passes = False",
            *("            " + line for line in COPY_IF_MUTABLE),
            "            $piece = $pieces.get($key)",
            "            if $piece is not None and timestamp <= $piece[1] and $piece[0] <= $end:",
            f"                $piece[2] = {first} if $piece[2] is None else {folded}",
            "                $piece[3] += 1",
            "                if timestamp < $piece[0]: $piece[0] = timestamp",
            "                if $end > $piece[1]: $piece[1] = $end",
            "            else:",
            "                if $piece is not None: $aside.append(($key, $piece))",
            f"                $pieces[$key] = [timestamp, $end, {first}, 1]",
            "if $passes:",
            "    if $pieces or $before: $flush()",
            "    if True:",
        )
        return Step(
            lines,
            names,
            prologue=(
                "$combines, $after = $operator.begin_chunk(len(values)), $operator.reached + 1",
            ),
            epilogue=("$flush_if_full()",),
        )

    def _flush_if_full(self) -> None:
        """After a chunk: send what is held, where it is too much."""
        before = sum(len(pieces) for pieces, _ in self._before)
        if len(self._pieces) + len(self._aside) + before >= MAX_KEYS:
            self._flush()

    def snapshot(self) -> Any | None:
        """The watermark, which tells what is late among the records to come."""
        return None if self.reached == MIN_WATERMARK else self.reached

    def restore(self, state: Any | None) -> None:
        """A split's records begin, or go on; those that a failed call left are dropped."""
        super().restore(state)
        self.reached = MIN_WATERMARK if state is None else state

    def watermark(self, watermark: int, idle: bool, signal: Signal) -> None:
        """Let a watermark wait for the records before it."""
        self.reached = max(watermark, self.reached)
        self._signal = signal
        if not (self._pieces or self._before) or idle or watermark >= MAX_WATERMARK:
            self._flush()
            signal(watermark, idle)
            return
        self._waiting = watermark
        # They may belong to a session that the watermark would end without them, at the receiver.
        before = [one for one in self._aside if one[1][0] <= watermark + 1]
        before += [one for one in self._pieces.items() if one[1][0] <= watermark + 1]
        if before:
            self._before.append((before, watermark))
            self._waiting = None
            self._aside[:] = [one for one in self._aside if one[1][0] > watermark + 1]
            for key, piece in before:
                if self._pieces.get(key) is piece:
                    del self._pieces[key]

    def _discard(self) -> None:
        self._forget_pieces()
        self._waiting = None

    def _forget_pieces(self) -> None:
        self._before.clear()
        self._aside.clear()
        self._pieces.clear()

    def _flush(self) -> None:
        for pieces, watermark in self._before:
            self._send(pieces)
            self._signal(watermark, False)
        self._send([*self._aside, *self._pieces.items()])
        self._forget_pieces()
        if self._waiting is not None:
            waiting, self._waiting = self._waiting, None
            self._signal(waiting, False)

    def _send(self, pieces: list[tuple[Any, Piece]]) -> None:
        if not pieces:
            return
        keys, found = zip(*pieces, strict=True)
        starts, ends, values, counts = map(list, zip(*found, strict=True))
        received, earliest = sum(counts), min(starts)
        self.send(
            AccumulatorBatch([*keys], (starts, ends, counts), values), earliest, received, earliest
        )
        self._policy.add_sample(received, len(keys))
