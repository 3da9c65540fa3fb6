"""Which tests a run draws."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.drawn import ALL, not_drawn, shares

SHARES = {"tests/a.py::test_one": 4}
OTHERS = ["tests/a.py::test_two[1]", "tests/a.py::test_one_more[1]"]
NAMES = [f"tests/a.py::test_one[{n}]" for n in range(10)]


@pytest.mark.parametrize("seed", ["1", "2", "3"])
def test_a_share_is_drawn_rounded_up(seed: str) -> None:
    left = not_drawn([*NAMES, *OTHERS], seed, SHARES)
    assert left < {*NAMES} and len(left) == 7
    assert left == not_drawn([*OTHERS, *NAMES], seed, SHARES)


def test_each_test_is_drawn_by_some_seed() -> None:
    assert not set.intersection(*(not_drawn(NAMES, f"{seed}", SHARES) for seed in range(40)))


def test_proofs_draw_none_as_they_run_all() -> None:
    assert not_drawn([*NAMES, *OTHERS], ALL, SHARES) == {*NAMES}


def test_each_function_of_the_list_is_there_and_has_parameters() -> None:
    root = Path(__file__).parents[2]
    for name, share in shares().items():
        path, function = name.split("::")
        before, found, _ = (root / path).read_text("utf-8").partition(f"def {function}(")
        assert found and "parametrize" in before.rpartition("\n\n\n")[2], name
        assert share > 1, name
