"""Every statement of the corpus that keeps state goes on from a savepoint, in other key groups too.

``HEADRACE_TEST_DRAW`` draws the same cases and cuts again (``tests/drawn.py``).
"""

from __future__ import annotations

import random
import re
from typing import Any

import pytest

from tests import drawn
from tests.differential.sql.cases import Case, areas
from tests.differential.sql.compare import Answer
from tests.pipelines.corpus import Draw, Seen, answered_cases, differing, run_case

MINI_BATCH = "table.exec.mini-batch.enabled"

ORDERED = re.compile(r"\b(FIRST_VALUE|LAST_VALUE|LISTAGG|ARRAY_AGG|JSON_\w+AGG)\b", re.I)
"""Aggregates whose results depend on the order of rows."""


def check(draw: Draw) -> list[str] | None:
    """What differs when a case is cut and goes on from savepoints; None: it keeps no state."""
    case, recorded = draw
    _, seen = run_case(case, {})
    if not seen.stateful:
        return None
    found = []
    for how in ways(case.name, seen):
        given, _ = run_case(case, how)
        differ = differing(recorded, given, order_of(case, recorded, seen, how))
        found += [f"{each} ({how})" for each in differ]
    return found


def order_of(case: Case, recorded: Answer, seen: Seen, how: dict[str, Any]) -> str:
    """How rows are compared, where they may come in another order than in one piece."""
    order = case.order("streaming")
    spread = "key_groups" in how
    if not spread and seen.sources < 2 and case.settings.get(MINI_BATCH) != "true":
        return order
    in_stages = spread and len(seen.stateful) > 1
    updates = {line[line.index("[") - 2 :][:2] for line in recorded.get("printed", ())}
    if "+U" in updates and "-U" not in updates:  # rows by key, of which the last one counts
        return "any" if in_stages else "bag"
    ordered = in_stages and ORDERED.search("\n".join(case.statements))
    return "taken back" if ordered else "folded"


def ways(name: str, seen: Seen) -> list[dict[str, Any]]:
    """One cut and nothing else; several cuts, each with other key groups after it."""
    draw = random.Random(f"{drawn.seed()} {name}")
    end = max(seen.records - 1, 1)
    through = {"backends": "paged", "restarts": "savepoint"}
    regroup = [(draw.randint(1, 7), draw.randint(1, 3)) for _ in range(2)]
    return [
        {"cuts": [draw.randint(1, end)], **through},
        {
            "cuts": sorted(draw.randint(1, end) for _ in range(2)),
            "key_groups": draw.randint(1, 5),
            "parallelism": draw.randint(1, 3),
            "regroup": regroup,
            **through,
        },
    ]


def checked(draws: list[Draw]) -> int:
    """How many of these cases keep state; all of these agree."""
    results = {f"{case.area}/{case.name}": check((case, recorded)) for case, recorded in draws}
    differ = {name: found for name, found in results.items() if found}
    assert differ == {}, f"{drawn.VARIABLE}={drawn.seed()}"
    return sum(found is not None for found in results.values())


def test_a_twentieth_of_the_corpus() -> None:
    every = answered_cases(*areas())
    assert checked(random.Random(drawn.seed()).sample(every, len(every) // 20)) > 0


@pytest.mark.capability("SQL: savepoints, other key groups, changed statements", runners="local")
@pytest.mark.parametrize("area", areas())
def test_every_statement_that_keeps_state(area: str) -> None:
    checked(answered_cases(area))
