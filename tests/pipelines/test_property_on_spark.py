"""The property on Spark: generated programs, as a stream in micro-batches and as a batch.

On HDFS and S3 tests/storage/test_property.py runs them.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from .draws import strategy
from .generated import Program, Step, programs
from .on_spark import PROGRAMS, ChangedPrograms, by_name, check, drawn_changed, joined

pytestmark = pytest.mark.spark


LOOKED_FOR = [
    Program(
        (tuple((n % 3, n * (number + 1) % 7, 1_000 + 3 * n - n % 4 * 4) for n in range(40)),),
        (Step("pattern", (0, 0), number), Step("window", (0, 0), 1)),
    )
    for number in range(PROGRAMS)
]
"""Each pattern of generated programs, twice."""


@settings(
    max_examples=2,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # a smaller example costs minutes
    suppress_health_check=list(HealthCheck),
)
@example(LOOKED_FOR, 12)
@given(st.lists(programs, min_size=PROGRAMS, max_size=PROGRAMS), st.integers(10, 60))
def test_property_on_spark(drawn: list[Program], most: int) -> None:
    for mode in ("STREAMING", "BATCH"):
        settings = {
            "execution.runtime-mode": mode,
            "headrace.source.max-records-per-batch": str(most),
        }
        built, together = joined(drawn, settings)
        collected: Any = together.execute_and_collect()
        with collected:
            check(built, by_name(len(drawn), collected), batch=mode == "BATCH", where=mode)


def changed_programs(number: int) -> Any:
    """The settings of a property of so many examples; the first is the simplest one."""
    return settings(
        max_examples=number,
        phases=[Phase.explicit, Phase.reuse, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


@changed_programs(2)
@given(strategy(drawn_changed))
def test_property_through_savepoints_on_spark(
    tmp_path_factory: pytest.TempPathFactory, changed: ChangedPrograms
) -> None:
    """From one parallelism to another by a savepoint, and back by the next."""
    changed.there_and_back().run(str(tmp_path_factory.mktemp("there")), {})


@pytest.mark.proof
@changed_programs(10)
@given(strategy(drawn_changed))
def test_property_of_changed_programs_on_spark(
    tmp_path_factory: pytest.TempPathFactory, changed: ChangedPrograms
) -> None:
    """Three versions go on one after another, the first two stopped somewhere.

    Parallelism differs, and what stands before operators with state (see ``Built.keyed``): steps
    without state, chains, exchanges. The files they write in turn are those of one run.
    """
    changed.run(str(tmp_path_factory.mktemp("changed")), {})
