"""Tests of which each run draws some: ``drawn.txt`` says of which, and how many of them.

``make proof`` runs all of them, as HEADRACE_TEST_DRAW is ``all`` there. Elsewhere it is the seed of
the draw, which the head of a run prints; those that are not drawn have the mark ``proof``.
"""

from __future__ import annotations

import math
import os
import random
from collections.abc import Iterable
from pathlib import Path

LIST = Path(__file__).with_name("drawn.txt")
VARIABLE = "HEADRACE_TEST_DRAW"
ALL = "all"


def shares() -> dict[str, int]:
    """Return, of each test function in the list, which part of its tests is drawn: one of n."""
    lines = (line.split() for line in LIST.read_text("utf-8").splitlines())
    return {each[1]: int(each[0].removeprefix("1/")) for each in lines if each and each[0] != "#"}


def seed() -> str:
    """Return the seed of this run and of its worker processes: the same for all of them."""
    return os.environ.setdefault(VARIABLE, str(random.SystemRandom().randrange(10_000)))


def not_drawn(names: Iterable[str], seed: str, shares: dict[str, int]) -> set[str]:
    """Return those names of tests that only ``make proof`` runs."""
    by_function: dict[str, list[str]] = {}
    for name in names:
        function = name.partition("[")[0]
        if function in shares:
            by_function.setdefault(function, []).append(name)
    left = set()
    for function, found in by_function.items():
        count = 0 if seed == ALL else math.ceil(len(found) / shares[function])
        drawn = random.Random(f"{seed} {function}").sample(found, count)
        left |= {*found} - {*drawn}
    return left
