"""Which tests a run draws."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.drawn import ALL, Pool, not_drawn, pools

POOLS = {"tests/a.py::test_one": Pool("ones", 4)}
OTHERS = ["tests/a.py::test_two[1]", "tests/a.py::test_one_more[1]"]
NAMES = [f"tests/a.py::test_one[{n}]" for n in range(10)]


@pytest.mark.parametrize("seed", ["1", "2", "3"])
def test_a_share_is_drawn_rounded_up(seed: str) -> None:
    left = not_drawn([*NAMES, *OTHERS], seed, POOLS)
    assert left < {*NAMES} and len(left) == 7
    assert left == not_drawn([*OTHERS, *NAMES], seed, POOLS)


def test_each_test_is_drawn_by_some_seed() -> None:
    assert not set.intersection(*(not_drawn(NAMES, f"{seed}", POOLS) for seed in range(40)))


def test_proofs_draw_none_as_they_run_all() -> None:
    assert not_drawn([*NAMES, *OTHERS], ALL, POOLS) == {*NAMES}


def test_functions_of_a_pool_are_drawn_from_together() -> None:
    pool = Pool("both", 2)
    names = ["a.py::test_one", "b.py::test_two[1]", "b.py::test_two[2]", "b.py::test_two[3]"]
    both = {"a.py::test_one": pool, "b.py::test_two": pool}
    drawn = [{*names} - not_drawn(names, f"{seed}", both) for seed in range(30)]
    assert {len(each) for each in drawn} == {2}
    assert {"a.py::test_one" in each for each in drawn} == {True, False}


def test_each_function_of_the_list_is_there_and_one_of_more() -> None:
    root, known = Path(__file__).parents[2], pools()
    sizes = Counter(known.values())
    for name, pool in known.items():
        path, function = name.split("::")
        before, found, _ = (root / path).read_text("utf-8").partition(f"def {function}(")
        own = before.rpartition("\n\n\n")[2]
        assert found and pool.share > 1, name
        assert sizes[pool] > 1 or "parametrize" in own or "in_proof" in own, name
    assert len({pool.name for pool in sizes}) == len(sizes)
