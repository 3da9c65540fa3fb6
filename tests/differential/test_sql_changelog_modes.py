"""The row kinds of the plans of EXPLAIN CHANGELOG_MODE, against those of Flink's plans.

Flink leaves out the kind UB where nothing after the operator needs it; here it is always given.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from headrace.errors import HeadraceError, UnsupportedError
from tests.differential.sql.cases import DATA, Case, cases
from tests.differential.sql.run_corpus import environment, goldens

pytestmark = pytest.mark.differential

AREA = "changelog_modes"
FEWER = {
    "distinct": "of equal rows only the first one is given",
    "union": "of equal rows only the first one is given",
    "intersect": "a set operation inserts and deletes",
    "except": "a set operation inserts and deletes",
    "scalar_subquery": "a subquery over constants is computed when it is planned",
}
"""Queries that give fewer kinds than Flink's plan says, with the reason."""
NOT_SUPPORTED = {"order_limit", "top_n", "deduplicate_first", "join"}


def kinds_of_flink(plan: list[str]) -> set[str]:
    """The kinds of the query, without what Flink adds for its sink."""
    top = next(line for line in plan if line.split()[0] not in ("Sink", "DropUpdateBefore"))
    return set(top.split()[-1].split(",")) - {"UB"}


def kinds_here(case: Case, folder: Path) -> set[str]:
    """The kinds of the query in the plan of Headrace."""
    *before, last = case.script(DATA, folder)
    env = environment(case, "streaming", "local")
    for statement in before:
        env.execute_sql(statement)
    with env.execute_sql(last).collect() as rows:
        ((plan,),) = rows
    found = re.search(r"changelogMode=\[([A-Z,]+)\]", plan)
    assert found is not None, plan
    return set(found[1].split(",")) - {"UB"}


@pytest.mark.parametrize("case", cases(AREA), ids=lambda case: case.name)
def test_kinds_of_a_query(case: Case, tmp_path: Path) -> None:
    recorded = goldens(AREA)[case.name, "streaming"]
    if case.name in NOT_SUPPORTED:
        with pytest.raises(UnsupportedError):
            kinds_here(case, tmp_path)
    elif "refused" in recorded:
        with pytest.raises(HeadraceError):
            kinds_here(case, tmp_path)
    elif case.name in FEWER:
        assert kinds_here(case, tmp_path) < kinds_of_flink(recorded["plan"])
    else:
        assert kinds_here(case, tmp_path) == kinds_of_flink(recorded["plan"])
