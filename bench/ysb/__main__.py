"""The Yahoo Streaming Benchmark: one table, events a second and latency at half that rate.

python -m bench.ysb                                  everything
python -m bench.ysb headrace --scale 0.1 --runs 1    a try
python -m bench.ysb headrace --rate 5000             latency at this rate, no catching up

Broker and Redis are started by ``headrace dev`` on the same two cores. Results go into
``build/bench/ysb.json``; nothing is written elsewhere.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Iterator

from bench import processes
from bench.contenders import size
from bench.environments import UnbuildableError, versions
from bench.results import ROUNDS, save
from bench.throughput import Row, figures
from bench.ysb import watch
from bench.ysb.contenders import CONTENDERS, Contender
from bench.ysb.servers import Servers, brought_up
from bench.ysb.table import latencies, table

PER_SECOND = 10_000
"""Events in a second of event time, where they were made beforehand."""
LIVE_S, WARM_UP_S = 90, 50
"""How long events happen, and from when on results count: starts are caught up by then."""
BEGINS_IN_S = 3.0
FASTEST_LIVE = 100_000
"""The generator's limit beside a contender on the same cores."""


def catching_up(contender: Contender, up: Servers, scale: float) -> Iterator[Row]:
    """A row for each of the two sizes."""
    for wanted in contender.sizes:
        given = up.filled(size(wanted, scale, PER_SECOND), PER_SECOND)
        watched = watch.catch_up(contender, up, given)
        row = {"contender": contender.name, "records": given.count, "seconds": watched.seconds}
        row |= {"wall_seconds": watched.seconds, "versions": versions(contender.environment)}
        row["facts"] = {"processor_seconds": watched.processor_seconds}
        if watched.failure:
            row["failure"] = watched.failure
        yield row
        if watched.failure:
            return


def waiting(contender: Contender, up: Servers, rate: int) -> Row:
    """The row of the latency at a rate."""
    given = up.to_come(rate, LIVE_S, WARM_UP_S, BEGINS_IN_S)
    watched = watch.live(contender, up, given)
    row: Row = {"contender": contender.name, "rate": rate}
    if watched.failure:
        return {**row, "failure": watched.failure}
    return {**row, "values": latencies(watched.results, given)}


def measure(
    chosen: list[Contender], up: Servers, runs: int, scale: float, rate: int | None
) -> Iterator[Row]:
    """Rounds of catching up, in which contenders take turns; then, as often, the latency of each
    at half its rate."""
    rows: list[Row] = []
    for number in range(0 if rate else runs):
        for contender in chosen:
            for row in catching_up(contender, up, scale):
                rows.append({**row, "case": "ysb", "round": number})
                yield rows[-1]
    found = figures(rows)
    for number in range(runs):
        for contender in chosen:
            figure = found.get(contender.name)
            half = rate or int(min(((figure and figure.rate) or 0) / 2, FASTEST_LIVE))
            if half:
                row = waiting(contender, up, half)
                yield {**row, "case": "ysb-latency", "round": number}


def tell(row: Row) -> None:
    """One line on standard error."""
    said = row.get("failure") or json.dumps(row.get("values") or f"{row['seconds']:.2f} s")
    of = f"{row.get('records') or row['rate']:,}" + ("/s" if "rate" in row else "")
    print(f"{row['contender']:<20} {of:>12}  {said}", file=sys.stderr)


def main() -> int:
    # Ended from outside, it still ends the contender that runs, and the servers.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [each.name for each in CONTENDERS]
    parser.add_argument("contenders", nargs="*", metavar="CONTENDER", help=", ".join(names))
    parser.add_argument("--runs", type=int, default=ROUNDS, help="rounds; medians are of these")
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies every size")
    parser.add_argument("--rate", type=int, help="only the latency, at so many events a second")
    given = parser.parse_args()
    unknown = set(given.contenders) - set(names)
    if unknown:
        parser.error(f"no such contender: {', '.join(sorted(unknown))}")
    chosen = [each for each in CONTENDERS if not given.contenders or each.name in given.contenders]
    processes.stay_on_two_cores()
    rows: list[Row] = []
    try:
        with brought_up() as up:
            for row in measure(chosen, up, given.runs, given.scale, given.rate):
                rows.append(row)
                tell(row)
    except UnbuildableError as error:
        print(error, file=sys.stderr)
        return 1
    settings = {"runs": given.runs, "scale": given.scale, "rate": given.rate}
    print(save(processes.scratch(), "ysb", rows, settings), file=sys.stderr)
    print(table(rows, {each.name: each.words for each in CONTENDERS}))
    return 1 if any("failure" in row for row in rows) else 0


if __name__ == "__main__":
    raise SystemExit(main())
