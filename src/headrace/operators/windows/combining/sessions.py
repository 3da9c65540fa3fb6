"""The combiner of session windows: successive records of a key are combined before they are sent.

What is sent is a partial session with its start and end, which the receiver merges like records. A
partial session that could extend a session which a watermark ends must be sent before that
watermark. A record that comes after the watermark is then sent alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.common.watermark_strategy import MAX_WATERMARK, MIN_WATERMARK
from headrace.operators.combine import COPY_IF_MUTABLE, MAX_KEYS, STEP_FUNCTIONS
from headrace.operators.windows.combining.combine import (
    CombineContentsOperator,
    CombineContentsSpec,
    fold_expressions,
)
from headrace.operators.windows.partial_aggregates import AccumulatorBatch
from headrace.runtime.loops import Step
from headrace.runtime.operator import Operator, PushWatermark

PartialSession = list[Any]
"""Start, end (ms, exclusive), accumulator, and number of records."""


@dataclass(frozen=True)
class CombineSessionsSpec(CombineContentsSpec):
    """The combiner of session windows with an accumulator and a fixed gap (ms)."""

    gap_ms: int
    kind = "combine-sessions"

    def build(self) -> Operator:
        return CombineSessionsOperator(self)


class CombineSessionsOperator(CombineContentsOperator):
    """Buffers the latest partial session of each key, until the task run ends or it is full."""

    def __init__(self, spec: CombineSessionsSpec) -> None:
        super().__init__(spec)
        self._spec = spec
        self._latest: dict[Any, PartialSession] = {}
        self._replaced: list[tuple[Any, PartialSession]] = []
        """Partial sessions that were replaced by a later one of their key."""
        self._before_watermarks: list[tuple[list[tuple[Any, PartialSession]], int]] = []
        """Partial sessions that must be sent before a watermark, and that watermark, in order."""
        self.last_watermark = MIN_WATERMARK
        self._deferred_watermark: int | None = None
        """A watermark that no partial session must precede."""

    def step(self) -> Step:
        initial, folded, functions = fold_expressions(self._spec.contents, "$session[2]")
        names = {
            **functions,
            "node": self.node,
            "key_of": self.key_of(),
            "gap": self._spec.gap_ms,
            "latest": self._latest,
            "replaced": self._replaced,
            "before_watermarks": self._before_watermarks,
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
            "            $session = $latest.get($key)",
            "            if $session is not None and timestamp <= $session[1]"
            " and $session[0] <= $end:",
            f"                $session[2] = {initial} if $session[2] is None else {folded}",
            "                $session[3] += 1",
            "                if timestamp < $session[0]: $session[0] = timestamp",
            "                if $end > $session[1]: $session[1] = $end",
            "            else:",
            "                if $session is not None: $replaced.append(($key, $session))",
            f"                $latest[$key] = [timestamp, $end, {initial}, 1]",
            "if $passes:",
            "    if $latest or $before_watermarks: $flush()",
            "    if True:",
        )
        return Step(
            lines,
            names,
            prologue=(
                "$combines = $operator.begin_chunk(len(values))",
                "$after = $operator.last_watermark + 1",
            ),
            epilogue=("$flush_if_full()",),
        )

    def _flush_if_full(self) -> None:
        """Flush after a chunk if there are too many partial sessions."""
        buffered = sum(len(sessions) for sessions, _ in self._before_watermarks)
        if len(self._latest) + len(self._replaced) + buffered >= MAX_KEYS:
            self._flush()

    def snapshot(self) -> Any | None:
        """Return the last watermark, which decides whether later records are late."""
        return None if self.last_watermark == MIN_WATERMARK else self.last_watermark

    def restore(self, state: Any | None) -> None:
        """Start a task run, and discard the records of a failed one."""
        super().restore(state)
        self.last_watermark = MIN_WATERMARK if state is None else state

    def watermark(self, watermark: int, idle: bool, push_watermark: PushWatermark) -> None:
        """Defer the watermark until the buffered records before it are sent."""
        self.last_watermark = max(watermark, self.last_watermark)
        self._signal = push_watermark
        if not (self._latest or self._before_watermarks) or idle or watermark >= MAX_WATERMARK:
            self._flush()
            push_watermark(watermark, idle)
            return
        self._deferred_watermark = watermark
        # The receiver may have a session that they extend, and that the watermark would end.
        due = [one for one in self._replaced if one[1][0] <= watermark + 1]
        due += [one for one in self._latest.items() if one[1][0] <= watermark + 1]
        if due:
            self._before_watermarks.append((due, watermark))
            self._deferred_watermark = None
            self._replaced[:] = [one for one in self._replaced if one[1][0] > watermark + 1]
            for key, session in due:
                if self._latest.get(key) is session:
                    del self._latest[key]

    def _discard(self) -> None:
        self._clear_sessions()
        self._deferred_watermark = None

    def _clear_sessions(self) -> None:
        self._before_watermarks.clear()
        self._replaced.clear()
        self._latest.clear()

    def _flush(self) -> None:
        for sessions, watermark in self._before_watermarks:
            self._send(sessions)
            self._signal(watermark, False)
        self._send([*self._replaced, *self._latest.items()])
        self._clear_sessions()
        if self._deferred_watermark is not None:
            deferred, self._deferred_watermark = self._deferred_watermark, None
            self._signal(deferred, False)

    def _send(self, sessions: list[tuple[Any, PartialSession]]) -> None:
        if not sessions:
            return
        keys, found = zip(*sessions, strict=True)
        starts, ends, values, counts = map(list, zip(*found, strict=True))
        received, earliest = sum(counts), min(starts)
        self.send_partials(
            AccumulatorBatch([*keys], (starts, ends, counts), values), earliest, received, earliest
        )
        self._policy.add_sample(received, len(keys))
