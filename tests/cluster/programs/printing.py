"""Functions that print and log, in tasks of a cluster; the second job fails. Takes a folder."""

from __future__ import annotations

import logging
import sys

from headrace.common import Configuration
from headrace.datastream import StreamExecutionEnvironment

log = logging.getLogger("shop.prices")


def looked_at(number: int) -> int:
    """Print each number."""
    print(f"looking at {number}")
    return number


def greater(first: int, second: int) -> int:
    """Log each comparison."""
    log.info("comparing %d", second)
    return max(first, second)


def refused(number: int) -> int:
    """Print, and fail at 3."""
    print(f"checking {number}")
    if number == 3:
        raise ValueError("3 is refused")
    return number


def main() -> None:
    """Run both jobs."""
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s")
    settings = {
        "parallelism.default": "1",
        "headrace.logging.level.shop": "INFO",
        "execution.checkpointing.dir": sys.argv[1],
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    totals = env.from_sequence(1, 3).map(looked_at).name("look").key_by(lambda n: 0).reduce(greater)
    with totals.name("largest").execute_and_collect("prints") as found:
        assert [*found] == [1, 2, 3]
    env.from_sequence(1, 3).map(refused).name("check").print()
    env.execute("fails")


main()
