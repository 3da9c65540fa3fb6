"""``python -m tests.recorded``: record what the engine answers, and compare with it later.

record            run all programs (some on Spark), and write the files
check             run all programs, and print what differs; the exit code is 1 if anything does
show SEED [WAY]   print a program and its answers
diff SEED WAY     print the first line that differs from the answer of the recorded commit
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from .answers import PROGRAMS, VARIANTS, Seed, answer_of
from .on_spark import digests_on_spark
from .recording import (
    answer_at,
    as_text,
    compared,
    differences,
    first_difference,
    of_spark,
    record,
    recording,
)


def main() -> int:
    """Run a command; gives the exit code."""
    parser = argparse.ArgumentParser("python -m tests.recorded", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("record", "check"):
        command = commands.add_parser(name)
        command.add_argument("--no-spark", action="store_true", help="without Spark")
        command.add_argument(
            "--first", type=int, default=PROGRAMS, metavar="N", help="the first N programs only"
        )
    show = commands.add_parser("show")
    show.add_argument("seed", type=int)
    show.add_argument("way", nargs="?", choices=VARIANTS)
    show.add_argument("--only-answer", action="store_true")
    diff = commands.add_parser("diff")
    diff.add_argument("seed", type=int)
    diff.add_argument("way", choices=VARIANTS)
    given = parser.parse_args()
    if given.command == "record":
        record(of_spark() if given.no_spark else digests_on_spark(), given.first)
    elif given.command == "check":
        return _check(given.first, not given.no_spark)
    elif given.command == "show":
        _show(given.seed, given.way, given.only_answer)
    else:
        _diff(given.seed, given.way)
    return 0


def _check(first: int, spark: bool) -> int:
    count = 0
    for count, difference in enumerate(differences(range(first)), 1):  # noqa: B007
        print(difference, end="\n\n", flush=True)
    if spark:
        known = recording()
        for number, found in digests_on_spark().items():
            for difference in compared(known, number, known.programs[number], found):
                count += 1
                print(difference, end="\n\n")
    print(f"{count} answers differ" if count else "every answer is as it was")
    return 1 if count else 0


def _show(number: int, way: str | None, only_answer: bool) -> None:
    seed = Seed.of(number)
    if only_answer:
        assert way is not None, "the answer of one way to run it"
        sys.stdout.write(answer_of(seed, way).exact)
        return
    print(seed.text(), end="\n\n")
    print(as_text((each, answer_of(seed, each)) for each in ([way] if way else VARIANTS)))


def _diff(number: int, way: str) -> None:
    at = recording().commit.removesuffix("-dirty")
    with tempfile.TemporaryDirectory() as folder:
        before = answer_at(at, Path(folder) / at, number, way)
    print(first_difference(before, answer_of(Seed.of(number), way).exact))


if __name__ == "__main__":
    sys.exit(main())
