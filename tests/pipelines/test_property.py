"""The property: however a program is run, its results are the same.

In one go or cut anywhere, on either backend, with keys in one group or in many, begun anew after
every micro-batch, as a stream or as a batch: all equal what a model in plain Python computes.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.effort import examples

from .generated import Program, Step, clocks, programs
from .jumping_clock import HOUR_MS, Jumps
from .running import check, in_small_pieces


@pytest.fixture(scope="module", autouse=True)
def small_pieces() -> Iterator[None]:
    with in_small_pieces():
        yield


cuts = st.lists(st.integers(1, 9), max_size=12)


BRANCHES_MEET = Program(
    (((0, 0, 1000),),),
    (Step("co_process", (0, 0), 11), Step("union", (0, 1), 0), Step("window", (0, 0), 0)),
)
"""A stream meets its own branch after an operator where branches met."""

BRANCHES_MEET_AND_PART = Program(
    (((0, 0, 1000),) * 6,) * 2,
    (*BRANCHES_MEET.steps[:2], Step("map", (3, 0), 0), Step("window", (1, 0), 0)),
)
"""The same of one of two sources."""


CLOCKED = Program(
    (tuple((n % 2, n, 1000 + n) for n in range(9)),),
    (Step("clocked", (0, 0), 0), Step("window", (0, 0), 0)),
)
"""Timers of processing time, under a clock that jumps."""


@settings(max_examples=examples(8))
@example(BRANCHES_MEET, [], [], 1, 1, Jumps(()))
@example(CLOCKED, [1] * 6, [1] * 6, 2, 1, Jumps((0, 0, 24 * HOUR_MS, -24 * HOUR_MS, 0, -HOUR_MS)))
@given(programs, cuts, cuts, st.integers(1, 5), st.integers(1, 3), clocks)
def test_property(
    program: Program,
    cuts: list[int],
    other_cuts: list[int],
    key_groups: int,
    parallelism: int,
    clock: Jumps,
) -> None:
    spread = {"key_groups": key_groups, "parallelism": parallelism}
    check(program)
    check(program, cuts=cuts, combining=False, **clock.how)
    check(program, cuts=other_cuts, backends="paged")
    check(program, combining=False, **spread)
    check(program, cuts=cuts, **spread)
    check(program, cuts=other_cuts, backends="paged", restarts=True, **clock.how, **spread)
    check(program, mode="batch")
    check(program, mode="batch", **spread)


spreads = st.lists(st.tuples(st.integers(1, 7), st.integers(1, 3)), min_size=1, max_size=3)


HELD_BACK = Program(
    (tuple((0, 0, 1000 + ms) for ms in (0, 0, 0, 4, 11, -2, 20)),),
    (Step("map", (0, 0), 0), Step("keyed_co_process", (0, 0), 0), Step("session", (0, 0), 0)),
)
"""Records come to a session when the watermark has reached the end of the one before."""


@settings(max_examples=examples(6))
@example(HELD_BACK, [], [(1, 1)], "heap")
@given(programs, cuts, spreads, st.sampled_from(["heap", "paged"]))
def test_property_through_a_savepoint(
    program: Program, cuts: list[int], spreads: list[tuple[int, int]], backends: str
) -> None:
    key_groups, parallelism = spreads[0]
    check(
        program,
        cuts=cuts,
        backends=backends,
        restarts="savepoint",
        key_groups=key_groups,
        parallelism=parallelism,
        regroup=spreads[1:] + spreads[:1],
    )
    check(program, cuts=cuts, backends=backends, restarts="savepoint")


versions = st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=3), min_size=1, max_size=2)


ENDED_BEFORE = Program(
    (((0, 0, 1000),) * 6, ((0, 0, 1000),) * 7),
    (Step("keyed_co_process", (0, 1), 0), Step("map", (0, 0), 0)),
)
"""One source has ended when an exchange is put in that only it feeds."""


GONE_AND_BACK = Program(
    (((0, 0, 1000),), ((0, 0, 1000),) * 4),
    (*[Step("map", (0, 0), 0)] * 3, Step("as_of_join", (0, 4), 0)),
)
"""An exchange is put in, left out and put in again, and the source that feeds it has ended."""


@settings(max_examples=examples(6))
@example(ENDED_BEFORE, [1, 1, 1, 1, 4], [[3]], [(1, 1)], "heap")
@example(BRANCHES_MEET_AND_PART, [4, 1, 7], [[1]], [(1, 1)], "heap")
@example(GONE_AND_BACK, [1, 1, 1], [[3]], [(1, 1)], "heap")
@given(programs, cuts, versions, spreads, st.sampled_from(["heap", "paged"]))
def test_property_of_changed_programs(
    program: Program,
    cuts: list[int],
    versions: list[list[int]],
    spreads: list[tuple[int, int]],
    backends: str,
) -> None:
    """Steps without state come and go before operators with state, exchanges among them."""
    successors = [
        lambda env, changes=changes: program.build(env, changes).streams() for changes in versions
    ]
    key_groups, parallelism = spreads[0]
    spread = {"key_groups": key_groups, "parallelism": parallelism}
    check(program, cuts=cuts, successors=successors, backends="paged", restarts=True, **spread)
    check(
        program,
        cuts=cuts,
        successors=successors,
        backends=backends,
        restarts="savepoint",
        regroup=spreads[1:] + spreads[:1],
        **spread,
    )
