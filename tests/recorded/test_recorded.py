"""The engine answers as the one that was recorded did."""

from __future__ import annotations

import numpy as np
import pytest

from tests.recorded.answers import PROGRAMS, Seed, answer_of
from tests.recorded.canonical import digest_of, text_of
from tests.recorded.on_spark import digests_on_spark
from tests.recorded.recording import (
    SAMPLED,
    compared,
    differences,
    first_difference,
    recording,
    sampled,
)


@pytest.mark.parametrize("start", range(0, SAMPLED, 12))
def test_a_sample_of_programs_answers_as_recorded(start: int) -> None:
    known, found = recording(), []
    for number in range(start, start + 12):
        seed, way = Seed.of(number), sampled(number)
        digests = {way: answer_of(seed, way).digests()}
        found += compared(known, number, digest_of(seed.text()), digests)
    assert not found, "\n\n".join(found)


@pytest.mark.proof
@pytest.mark.spark  # as all proofs are, which the fast tests leave out by it
@pytest.mark.timeout(3600)
def test_all_programs_answer_as_recorded() -> None:
    found = [*differences(range(PROGRAMS))]
    assert not found, "\n\n".join(found)


@pytest.mark.spark
@pytest.mark.timeout(900)
def test_programs_on_spark_answer_as_recorded() -> None:
    known = recording()
    found = [
        difference
        for number, digests in digests_on_spark().items()
        for difference in compared(known, number, known.programs[number], digests)
    ]
    assert not found, "\n\n".join(found)


def test_a_text_tells_types_bits_and_order() -> None:

    values = [
        1,
        True,
        1.0,
        np.int64(1),
        np.float64(1),
        "1",
        0.0,
        -0.0,
        (1, 2),
        [1, 2],
        (2, 1),
        None,
    ]
    assert len({*map(text_of, values)}) == len(values)
    assert text_of(float("nan")) == text_of(-float("nan"))
    lines = first_difference("a\nb\nc\n", "a\nb\nd\n")
    assert lines.splitlines() == ["line 3 (- recorded, + now):", "  a", "  b", "- c", "+ d"]
