"""Rounds, in which contenders take turns: to catch up, then with live events at half the rate."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bench.contenders import size
from bench.environments import versions
from bench.results import ROUNDS
from bench.throughput import Row, figures
from bench.ysb import watch
from bench.ysb.contenders import CATCHING_UP, CONTENDERS, LIVE, Contender
from bench.ysb.servers import Input, Servers
from bench.ysb.table import by_window, latencies

Rows = list[Row]

PER_SECOND = 10_000
"""Events in a second of event time, where they were made beforehand."""
LIVE_S, WARM_UP_S = 62, 20
"""How long events happen, and from when on results count. The last window that counts is not ended
by the tail, but by events that happen after it."""
FASTEST_LIVE = 100_000
"""The generator's limit beside a contender on the same cores."""
NO_RATE = {"failure": "it has no rate, so there is no half of it"}
LATEST_MS = 1_000
"""If an event was produced later than that, the generator did not keep up."""
SLOWEST_MS = 10_000
"""If half of the last window's results come later than that, the contender did not keep up."""


@dataclass(frozen=True)
class Plan:
    """What was asked for on the command line."""

    contenders: tuple[str, ...]
    rounds: int = ROUNDS
    scale: float = 1.0
    rate: int | None = None

    def settings(self) -> dict[str, Any]:
        """For the results; two runs of equal settings may be put together."""
        return {**asdict(self), "contenders": [*self.contenders]}

    def is_whole(self) -> bool:
        """Whether what is measured so takes the place of the committed results."""
        everyone = len(self.contenders) == len(CONTENDERS)
        return everyone and self.scale == 1 and not self.rate and self.rounds >= ROUNDS

    def turns(self) -> Iterator[tuple[int, Contender]]:
        """Round and contender; another one begins in each round."""
        chosen = [each for each in CONTENDERS if each.name in self.contenders]
        for number in range(self.rounds):
            first = number % len(chosen)
            for contender in chosen[first:] + chosen[:first]:
                yield number, contender


def measure(plan: Plan, up: Servers, before: Sequence[Row] = ()) -> Iterator[Rows]:
    """The rows of each turn, when it has ended; what is there from before is not run again."""
    rows = [*before]
    for number, contender in plan.turns():
        if is_done(rows, number, contender.name):
            continue
        own: Rows = []
        began = time.monotonic()
        for row in _turn(contender, up, plan, rows):
            own.append({**row, "contender": contender.name, "round": number})
            tell(own[-1])
        print(f"{'':<20} {time.monotonic() - began:.0f} s in all", file=sys.stderr)
        rows += own
        yield own


def is_done(rows: Sequence[Row], number: int, contender: str) -> bool:
    """Whether a turn's last row is there: the latency, or why there is none."""
    return any(
        row["case"] == LIVE and (row["round"], row["contender"]) == (number, contender)
        for row in rows
    )


def right(rows: Sequence[Row]) -> Rows:
    """The rows of the turns that went through to their end, and of which none failed."""

    def turn(row: Row) -> tuple[int, str]:
        return row["round"], row["contender"]

    failed = {turn(row) for row in rows if "failure" in row}
    return [row for row in rows if turn(row) not in failed and is_done(rows, *turn(row))]


def _turn(contender: Contender, up: Servers, plan: Plan, before: Sequence[Row]) -> Iterator[Row]:
    """The rows of both sizes and of the latency. What goes wrong is a row, and others go on."""
    case, own = CATCHING_UP, [row for row in before if row["contender"] == contender.name]
    try:
        if plan.rate is None:
            for row in _catching_up(contender, up, plan.scale):
                own.append({"case": case, "round": plan.rounds, **row, "contender": contender.name})
                yield {"case": case, **row}
        case, rate = LIVE, plan.rate or _half_of(own)
        yield {"case": case, **(_waiting(contender, up, rate) if rate else NO_RATE)}
    except Exception as error:  # whatever a peer's environment, jars or servers can raise
        for left in {case: 0, LIVE: 0}:
            yield {"case": left, "failure": f"{type(error).__name__}: {error}"}


def _catching_up(contender: Contender, up: Servers, scale: float) -> Iterator[Row]:
    """A row for each of the two sizes; the second only if the first is right."""
    for wanted in contender.sizes:
        given = up.filled(size(wanted, scale, PER_SECOND), PER_SECOND)
        watched = watch.catch_up(contender, up, given)
        row: Row = {"records": given.count, "seconds": watched.seconds}
        row |= {"wall_seconds": watched.seconds, "versions": versions(contender.environment)}
        row["facts"] = {"processor_seconds": watched.processor_seconds}
        if watched.failure:
            row["failure"] = watched.failure
        yield row
        if watched.failure:
            return


def _half_of(rows: Rows) -> int | None:
    """Half the rate of the last round that gave one."""
    for figure in figures(row for row in rows if row["case"] == CATCHING_UP).values():
        if figure.by_round:
            return int(min(figure.by_round[max(figure.by_round)] / 2, FASTEST_LIVE))
    return None


def _waiting(contender: Contender, up: Servers, rate: int) -> Row:
    """The row of the latency at a rate."""
    watched, given = watch.live(contender, up, rate, LIVE_S, WARM_UP_S)
    row: Row = {"rate": rate, "versions": versions(contender.environment)}
    row["facts"] = {"processor_seconds": watched.processor_seconds, "generator": watched.generator}
    row["facts"]["by_window"] = by_window(watched.results, given)
    values = {"events_per_second": rate, **latencies(watched.results, given)}
    failure = watched.failure or behind(watched, given)
    return {**row, "failure": failure, "found": values} if failure else {**row, "values": values}


def behind(watched: watch.Watched, given: Input) -> str | None:
    """Who did not keep up with a live rate; None if all did."""
    late_ms = watched.generator.get("late_ms")
    if late_ms is None or late_ms > LATEST_MS:
        return f"the generator did not keep up: an event came {late_ms} ms late"
    medians_ms = by_window(watched.results, given)
    if not medians_ms or medians_ms[-1] > SLOWEST_MS:
        return f"it does not keep up: half of each window was there after {medians_ms} ms"
    return None


def tell(row: Row) -> None:
    """One line on standard error."""
    said = str(row.get("failure") or row.get("values") or f"{row['seconds']:.2f} s")
    said += f" {row['found']}" if row.get("found") else ""
    of = f"{row['records']:,}" if "records" in row else f"{row.get('rate', 0):,}/s"
    print(f"{row['contender']:<20} {of:>12}  {said}", file=sys.stderr, flush=True)
