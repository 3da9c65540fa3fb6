from __future__ import annotations

import math

import pyarrow as pa

from headrace.sql.functions.kernels import map_values


def test_a_row_is_computed_once_if_it_occurs_again() -> None:
    calls = []

    def joined(one: str, two: int) -> str:
        calls.append((one, two))
        return f"{one}{two}"

    texts, numbers = pa.array(["a", "b", "a", None]), pa.array([1, 1, 1, 1])
    found = map_values(joined, [texts, numbers], pa.string())
    assert found.to_pylist() == ["a1", "b1", "a1", None]
    assert calls == [("a", 1), ("b", 1)]


def test_the_sign_of_zero_is_that_of_its_row() -> None:
    zeros, numbers = pa.array([-0.0, 0.0, -0.0]), pa.array([-1.0, -1.0, -1.0])
    found = map_values(math.atan2, [zeros, numbers], pa.float64())
    assert found.to_pylist() == [-math.pi, math.pi, -math.pi]
    assert map_values(str, [zeros], pa.string()).to_pylist() == ["-0.0", "0.0", "-0.0"]
