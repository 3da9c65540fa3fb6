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
from typing import NamedTuple

LIST = Path(__file__).with_name("drawn.txt")
VARIABLE = "HEADRACE_TEST_DRAW"
ALL = "all"


class Pool(NamedTuple):
    """What is drawn from together: of the tests of its functions, one of ``share`` is run."""

    name: str
    share: int


def pools() -> dict[str, Pool]:
    """Return the pool of each test function in the list; one without a name is of its own."""
    found = {}
    for line in LIST.read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            share, *name, function = line.split()
            found[function] = Pool(*name or [function], int(share.removeprefix("1/")))
    return found


def seed() -> str:
    """Return the seed of this run and of its worker processes: the same for all of them."""
    return os.environ.setdefault(VARIABLE, str(random.SystemRandom().randrange(10_000)))


def not_drawn(names: Iterable[str], seed: str, pools: dict[str, Pool]) -> set[str]:
    """Return those names of tests that only ``make proof`` runs."""
    by_pool: dict[Pool, list[str]] = {}
    for name in names:
        pool = pools.get(name.partition("[")[0])
        if pool is not None:
            by_pool.setdefault(pool, []).append(name)
    left = set()
    for pool, found in by_pool.items():
        count = 0 if seed == ALL else math.ceil(len(found) / pool.share)
        left |= {*found} - {*random.Random(f"{seed} {pool.name}").sample(found, count)}
    return left
