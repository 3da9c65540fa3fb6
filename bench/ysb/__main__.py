"""The Yahoo Streaming Benchmark: one table, events a second and latency at half that rate.

python -m bench.ysb                                  everything, three rounds
python -m bench.ysb --rounds 3 --resume              what a run that was broken off has left
python -m bench.ysb headrace --scale 0.1 --rounds 1  a try
python -m bench.ysb headrace --rate 5000             latency at this rate, no catching up

Broker and Redis are started by ``headrace dev`` on the same two cores. Rows are saved after each
contender, in ``build/bench/ysb``. Three whole rounds of all contenders go into ``bench/results``
and into the pages.
"""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path

from bench import processes, report
from bench.environments import ROOT
from bench.results import ROUNDS, load, save
from bench.ysb.contenders import CATCHING_UP, CONTENDERS, LIVE
from bench.ysb.rounds import Plan, Rows, measure, right
from bench.ysb.servers import brought_up
from bench.ysb.table import table

TRIES = processes.scratch() / "ysb-rows"


def keep(folder: Path, rows: Rows, plan: Plan) -> None:
    """Write the rows down, in place of those that were there."""
    for name in (CATCHING_UP, LIVE):
        save(folder, name, [row for row in rows if row["case"] == name], plan.settings())


def kept(plan: Plan) -> Rows:
    """What a run of this plan has left; nothing of another plan, and no turn that failed."""
    found = load(TRIES)
    rows = [row for name in (CATCHING_UP, LIVE) for row in found.get(name, {}).get("rows", [])]
    if any(result["settings"] != plan.settings() for result in found.values()):
        return []
    return right(rows)


def main() -> int:
    # Ended from outside, it still ends the contender that runs, and the servers.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [each.name for each in CONTENDERS]
    parser.add_argument("contenders", nargs="*", metavar="CONTENDER", help=", ".join(names))
    parser.add_argument("--rounds", "--runs", type=int, default=ROUNDS, help="medians are of these")
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies every size")
    parser.add_argument("--rate", type=int, help="only the latency, at so many events a second")
    parser.add_argument("--resume", action="store_true", help="leave out what is measured")
    given = parser.parse_args()
    unknown = set(given.contenders) - set(names)
    if unknown:
        parser.error(f"no such contender: {', '.join(sorted(unknown))}")
    chosen = tuple(n for n in names if not given.contenders or n in given.contenders)
    plan = Plan(chosen, given.rounds, given.scale, given.rate)
    processes.stay_on_two_cores()
    rows = kept(plan) if given.resume else []
    with brought_up() as up:
        for own in measure(plan, up, rows):
            rows += own
            keep(TRIES, rows, plan)
    if plan.is_whole():
        home = Path(report.__file__).parent
        keep(home / "results", rows, plan)
        print(report.write(home / "RESULTS.md", home / "results"), file=sys.stderr)
        report.put_into_pages(ROOT, home / "results")
    print(table(rows))
    return 1 if any("failure" in row for row in rows) else 0


if __name__ == "__main__":
    raise SystemExit(main())
