"""The list of long tests, and how it is made."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.long_tests import long_tests, longest, seconds_of

LOG = """\
============================= test session starts ==============================
2.00s call     tests/unit/test_a.py::test_one[x-1]
0.50s setup    tests/unit/test_a.py::test_one[y]
0.25s call     tests/unit/test_a.py::TestB::test_two
FAILED tests/unit/test_a.py::test_one - 3.00s call
============================= test session starts ==============================
31.00s call     tests/spark/test_c.py::test_three
"""


def test_seconds_are_added_up_by_function_in_each_part() -> None:
    fast, spark = seconds_of(LOG.splitlines())
    assert fast == {
        "tests/unit/test_a.py::test_one": 2.5,
        "tests/unit/test_a.py::TestB::test_two": 0.25,
    }
    assert spark == {"tests/spark/test_c.py::test_three": 31.0}


@pytest.mark.parametrize(
    ("left", "names"), [(6, []), (5, ["c"]), (3, ["c"]), (2.5, ["c", "b"]), (0, ["c", "b", "a"])]
)
def test_the_longest_go_until_the_others_are_short_enough(left: float, names: list[str]) -> None:
    assert longest(Counter(a=1.0, b=2.0, c=3.0), left) == names


def test_each_long_test_exists() -> None:
    root = Path(__file__).parents[2]
    for name in long_tests():
        path, defined, *inherited = name.split("::")
        word = "class" if inherited else "def"  # a class may have its tests from a suite
        assert f"{word} {defined}(" in (root / path).read_text("utf-8"), name


def test_a_long_test_is_marked(request: pytest.FixtureRequest) -> None:
    for item in request.session.items:
        is_long = item.nodeid.partition("[")[0] in long_tests()
        assert (item.get_closest_marker("long") is not None) == is_long
