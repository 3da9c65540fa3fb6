"""Which tests are long: `make test` leaves them out, `make test-long` and CI run them.

`tests/long.txt` names them. It is written from what pytest says of a whole run:

    make test ARGS=--durations=0 > test.log && make test-long ARGS=--durations=0 > long.log
    python -m tests.long_tests test.log long.log

The longest functions of the part without Spark are taken until the others need less than
`FAST_SECONDS` of one process, and so for the part with Spark, with `SPARK_SECONDS`.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

LIST = Path(__file__).with_name("long.txt")
FAST_SECONDS = 76.0
SPARK_SECONDS = 930.0

KEPT = frozenset(
    {
        "tests/capabilities/test_capabilities.py::test_program",
        "tests/differential/test_against_pyflink.py::test_local",
        "tests/differential/test_against_pyflink.py::test_spark",
        "tests/pipelines/test_property.py::test_property",
        "tests/pipelines/test_property_on_spark.py::test_property_on_spark",
        "tests/recorded/test_recorded.py::test_a_sample_of_programs_answers_as_recorded",
        "tests/trades/test_spark.py::test_the_job",
    }
)
"""What shows most of the whole stays in `make test`, however long it takes."""

_DURATION = re.compile(r"\s*([\d.]+)s (?:call|setup|teardown)\s+(\S+?)(?:\[|\s|$)")
_PART = re.compile(r"=+ test session starts =+")


def long_tests() -> frozenset[str]:
    """Return the node ids of the long test functions, without parameters."""
    return frozenset(LIST.read_text("utf-8").split())


def seconds_of(log: Iterable[str]) -> list[Counter[str]]:
    """Return the seconds of each test function in a log, for each part of the run."""
    parts: list[Counter[str]] = []
    for line in log:
        if _PART.match(line):
            parts.append(Counter())
        elif parts and (found := _DURATION.match(line)):
            parts[-1][found[2]] += float(found[1])
    return parts


def longest(seconds: Counter[str], left: float) -> list[str]:
    """Return the functions without which the others need at most ``left`` seconds.

    Those of ``KEPT`` are not among them.
    """
    rest, found = sum(seconds.values()), []
    for name, taken in seconds.most_common():
        if rest <= left:
            break
        if name not in KEPT:
            found.append(name)
            rest -= taken
    return found


def main() -> None:
    """Write the list from the logs of the command line, whose parts are without and with Spark."""
    totals = [Counter[str](), Counter[str]()]
    for path in sys.argv[1:]:
        for total, seconds in zip(
            totals, seconds_of(Path(path).read_text().splitlines()), strict=True
        ):
            total.update(seconds)
    fast, spark = totals
    names = longest(fast, FAST_SECONDS) + longest(spark, SPARK_SECONDS)
    LIST.write_text("".join(f"{name}\n" for name in sorted(names)), "utf-8")


if __name__ == "__main__":
    main()
