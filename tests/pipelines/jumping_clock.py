"""A wall clock that is set forward and back while a pipeline runs, beside a monotonic one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from headrace.common.typeinfo import Types
from headrace.datastream import DataStream, KeyedProcessFunction, OutputTag
from headrace.datastream.state import ValueStateDescriptor

from .draws import Draws

HOUR_MS = 3_600_000
START_MS = 100_000 * HOUR_MS


class JumpingClock:
    """Each reading is ``step_ms`` after the one before, and the next of ``jumps`` moves it."""

    def __init__(self, jumps: Sequence[int], step_ms: int = 50) -> None:
        self.wall_ms, self.monotonic_ms = START_MS, 0
        self._jumps, self._step_ms = iter(jumps), step_ms

    def __call__(self) -> int:
        self.monotonic_ms += self._step_ms
        self.wall_ms += self._step_ms + next(self._jumps, 0)
        return self.wall_ms

    @property
    def how(self) -> dict[str, Any]:
        """What ``run_pipeline`` is given."""
        return {"clock": self, "monotonic": lambda: self.monotonic_ms}


@dataclass(frozen=True)
class Jumps:
    """By how much the clock of a run is set at each reading (ms)."""

    jumps_ms: tuple[int, ...]

    @property
    def how(self) -> dict[str, Any]:
        """What ``run_pipeline`` is given: a new clock."""
        return JumpingClock(self.jumps_ms).how


def drawn_jumps(draws: Draws) -> Jumps:
    """A clock that stands where it should, is a little off, or was days ahead."""

    def jump(draws: Draws) -> int:
        most_ms = draws.choice([0, 500, HOUR_MS, 24 * HOUR_MS])
        return draws.integer(-most_ms, most_ms)

    return Jumps(tuple(draws.several(jump, 0, 12)))


jumps = st.lists(
    st.one_of(
        st.just(0), st.integers(-500, 500), st.integers(-HOUR_MS, HOUR_MS), st.just(24 * HOUR_MS)
    ),
    max_size=12,
)
"""By how much the clock is set at each reading."""

WENT_BACK = OutputTag("a time went back", Types.PICKLED_BYTE_ARRAY())


class ProcessingTimes(KeyedProcessFunction):
    """Gives each record as it is; sets a timer for it, and looks whether a key's time goes back."""

    def open(self, runtime_context: Any) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        now_ms = ctx.timer_service().current_processing_time()
        yield from self._look(now_ms)
        ctx.timer_service().register_processing_time_timer(now_ms + 120)
        yield value

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield from self._look(ctx.timer_service().current_processing_time())

    def _look(self, now_ms: int) -> Iterator[Any]:
        last = self.last.value()
        if last is not None and now_ms < last:
            yield WENT_BACK, (last, now_ms)
        self.last.update(now_ms)


def with_processing_times(keyed: Any) -> tuple[DataStream, DataStream]:
    """A keyed stream's records, and what must be empty: times that went back."""
    stream = keyed.process(ProcessingTimes())
    return stream, stream.get_side_output(WENT_BACK)
