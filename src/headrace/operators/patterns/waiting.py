"""The events of each key that wait until the watermark, or the clock, has passed them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING, Any

from headrace.common._types.data import TypeData, type_data
from headrace.operators.patterns.over_columns import UNKNOWN
from headrace.operators.patterns.stored import MOMENT, Stored
from headrace.runtime.state.backend import Entry, Timer
from headrace.runtime.state.handles import KeyContext
from headrace.runtime.state.kinds import RESERVED_NAMES, TIMES, VALUE
from headrace.runtime.state.time_buffer import TimeBuffer

if TYPE_CHECKING:
    from headrace.operators.patterns.over_columns import AnswerArray

MATCHES = RESERVED_NAMES + "pattern.matches"
"""The state with partial matches (see ``stored.py``)."""

WAITING, ANSWERS = RESERVED_NAMES + "pattern.waiting", RESERVED_NAMES + "pattern.answers"
"""The states with the events, and with the answers of those that have some, at the same times."""

WAKE = RESERVED_NAMES + "pattern.wake"
"""The state with the time (ms) of the timer for the first waiting event."""


@dataclass(frozen=True)
class Events:
    """Events in the order of arrival, with their keys, times (ms) and answers (None: no pattern
    with conditions over columns)."""

    keys: Sequence[Any]
    values: Sequence[Any]
    times: Sequence[int]
    answers: AnswerArray | None = None

    def at(self, places: Sequence[int]) -> Events:
        """Return the events at some places."""
        answers = self.answers
        return Events(
            [self.keys[place] for place in places],
            [self.values[place] for place in places],
            [self.times[place] for place in places],
            None if answers is None else answers[places],
        )

    def each_answers(self) -> Iterable[int | None]:
        """Return the answers of each event; None: there are none."""
        return repeat(None, len(self.values)) if self.answers is None else self.answers.tolist()


def moment_of(entry: Entry) -> int | None:
    """Return when (ms) the time of a key's first partial match is over, as it is stored."""
    stored: Stored | None = entry.get(MATCHES)
    return None if stored is None else stored[MOMENT]


class WaitingEvents:
    """The waiting events of a task; a key has a timer for its first one.

    ``delay_ms``: how long after its time an event can be taken.
    """

    def __init__(self, key_context: KeyContext, is_event_time: bool, delay_ms: int) -> None:
        self._key_context = key_context
        self._is_event_time = is_event_time
        self._delay_ms = delay_ms

    @staticmethod
    def declare(states: Any, declared: TypeData | None) -> None:
        """Declare the states; ``declared``: the type of the events."""
        states.declare(WAITING, TIMES, declared)
        states.declare(ANSWERS, TIMES, type_data("LONG"))
        states.declare(WAKE, VALUE, type_data("LONG"))

    def add(self, events: Events) -> None:
        """Let events wait."""
        backend, delay_ms = self._key_context.backend, self._delay_ms
        timers = backend.event_timers if self._is_event_time else backend.processing_timers
        enter, changed = backend.enter, backend.changed
        rows = zip(events.keys, events.values, events.times, strict=True)
        for (key, value, timestamp), answers in zip(rows, events.each_answers(), strict=True):
            entry = enter(key)
            buffer = entry.get(WAITING)
            if buffer is None:
                entry[WAITING] = TimeBuffer([timestamp], [value])
            else:
                buffer.add(timestamp, value)
            if answers is not None:
                known = entry.get(ANSWERS)
                if known is None:
                    entry[ANSWERS] = TimeBuffer([timestamp], [answers])
                else:
                    known.add(timestamp, answers)
            wake_ms, ready_ms = entry.get(WAKE), timestamp + delay_ms
            if wake_ms is None or ready_ms < wake_ms:
                entry[WAKE] = ready_ms
                timers.register(Timer(ready_ms, key))
                if wake_ms is not None and wake_ms != moment_of(entry):
                    timers.delete(Timer(wake_ms, key))
            changed(key)

    def take(self, entry: Entry, until_ms: int) -> list[tuple[int, Any, int]]:
        """Remove the events of a key up to a time, and return their times, values and answers.

        They are in order of time; those of one time in the order in which they came. The key's
        next wake-up is set, or removed with the last event. Answers may be those of an earlier
        program (see ``Answers.known``).
        """
        waiting, known = entry[WAITING], entry.get(ANSWERS)
        times, values = waiting.take_through(until_ms - self._delay_ms)
        answers: list[int] = []
        if known is not None:
            _, answers = known.take_through(until_ms - self._delay_ms)
            if not known:
                del entry[ANSWERS]
        if waiting:
            entry[WAKE] = waiting.first_ms + self._delay_ms
        else:
            del entry[WAITING], entry[WAKE]
        if len(answers) != len(times):  # some came under a program without these conditions
            return [*zip(times, values, repeat(UNKNOWN))]
        return [*zip(times, values, answers, strict=True)]
