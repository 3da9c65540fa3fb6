"""Which streams plans share, and which options they are planned with."""

from __future__ import annotations

import pytest

from headrace.common.changelog_mode import ChangelogMode
from tests.unit.table._planning.plans import COUNTS, NO_ROWS, environment, insert, planner_of, table

pytest.importorskip("sqlglot")


def test_equal_plans_are_one_stream_of_the_program() -> None:
    planner = planner_of(environment())
    stream, mode = planner.stream_of(NO_ROWS)
    assert planner.stream_of(NO_ROWS)[0] is stream
    assert mode == ChangelogMode.insert_only()
    assert planner.stream_of(COUNTS)[1] != mode


def test_a_job_has_operators_of_its_own() -> None:
    planner = planner_of(environment())
    first, second = planner.lowering(), planner.lowering()
    assert first.lower(NO_ROWS) is first.lower(NO_ROWS)
    assert first.lower(NO_ROWS) is not second.lower(NO_ROWS)


def test_options_are_those_of_the_moment() -> None:
    env = environment()
    planner = planner_of(env)
    assert not planner.lowering().options.mini_batch
    env._configuration.set_string("table.exec.mini-batch.enabled", "true")
    assert planner.lowering().options.mini_batch


def test_the_names_of_written_tables_are_full() -> None:
    env = environment()
    assert planner_of(env).add_sinks([insert(table(), "a"), insert(table(), "b")]) == [
        "c.d.a",
        "c.d.b",
    ]
    assert len(env._list_sinks()) == 2
