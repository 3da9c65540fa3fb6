"""What an INSERT means for its table: the columns, the changes, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.common.changelog_mode import ChangelogMode
from headrace.errors import SqlValidationError
from headrace.sql.definitions import MetadataColumn, PhysicalColumn
from headrace.sql.rules.conflicts import SinkChanges
from headrace.sql.types import BIGINT, INT, STRING
from headrace.table._connectors.blackhole import BlackholeConnector
from headrace.table._connectors.connector import TableRequest, TableSink
from headrace.table._planning.explained import PlanTexts
from headrace.table._planning.sinks import SinkPlan
from headrace.table._planning.targets import PlannedInsert
from tests.unit.table._planning.plans import (
    COUNTS,
    NO_ROWS,
    environment,
    insert,
    planner_of,
    table,
    target,
)

pytest.importorskip("sqlglot")


def plan(given: PlannedInsert, **settings: str) -> SinkPlan:
    planner = planner_of(environment(**settings))
    return planner.sinks(planner.lowering()).plan(given)


def test_rows_get_the_names_and_types_of_the_table() -> None:
    made = plan(insert(table(PhysicalColumn("name", STRING), PhysicalColumn("total", BIGINT))))
    assert [each.name for each in made.rel.columns] == ["name", "total"]
    assert [each.type.with_nullable(True) for each in made.rel.columns] == [STRING, BIGINT]


def test_columns_that_are_not_null_or_a_key_are_looked_at_for_nulls() -> None:
    columns = PhysicalColumn("k", STRING.with_nullable(False)), PhysicalColumn("v", INT)
    assert plan(insert(table(*columns))).required == ("k",)
    assert plan(insert(table(*columns, key=["v"]))).required == ("k", "v")


def test_rows_that_change_need_a_table_that_takes_changes(tmp_path: Path) -> None:
    files = table(connector="filesystem", path=str(tmp_path), format="csv")
    with pytest.raises(SqlValidationError, match="does not accept the changes") as caught:
        plan(PlannedInsert(COUNTS, target(files)))
    assert caught.value.where["the query gives"] == str(ChangelogMode.updates())
    assert plan(PlannedInsert(COUNTS, target(table()))).changes == SinkChanges()


def test_a_batch_gives_only_inserts(tmp_path: Path) -> None:
    files = table(connector="filesystem", path=str(tmp_path), format="csv")
    made = plan(PlannedInsert(COUNTS, target(files)), **{"execution.runtime-mode": "BATCH"})
    assert made.changes == SinkChanges()


def test_only_some_tables_are_overwritten(tmp_path: Path) -> None:
    files = table(connector="filesystem", path=str(tmp_path), format="csv")
    batch = {"execution.runtime-mode": "BATCH"}
    assert plan(PlannedInsert(NO_ROWS, target(files), overwrite=True), **batch).sink
    with pytest.raises(SqlValidationError, match="'blackhole' only appends"):
        plan(PlannedInsert(NO_ROWS, target(table()), overwrite=True), **batch)


def test_metadata_is_written_only_where_the_connector_does() -> None:
    physical = PhysicalColumn("k", STRING)
    with pytest.raises(SqlValidationError, match="'blackhole' does not write") as caught:
        plan(insert(table(physical, MetadataColumn("at", INT))))
    assert caught.value.where == {"column": "at"}
    virtual = MetadataColumn("at", INT, virtual=True)
    made = plan(insert(table(physical, PhysicalColumn("v", INT), virtual)))
    assert [each.name for each in made.rel.columns] == ["k", "v"]


def test_an_insert_that_is_refused_leaves_no_sink_of_the_others() -> None:
    env = environment()
    wrong = PlannedInsert(NO_ROWS, target(table()), overwrite=True)
    with pytest.raises(SqlValidationError, match="only appends"):
        planner_of(env).add_sinks([insert(table(), "good"), wrong])
    assert not env._list_sinks()


def test_explain_plans_each_sink_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    sink = BlackholeConnector.sink

    def counted(self: BlackholeConnector, request: TableRequest) -> TableSink:
        asked.append(request.name)
        return sink(self, request)

    monkeypatch.setattr(BlackholeConnector, "sink", counted)
    env = environment()
    text = PlanTexts(env, planner_of(env)).of_inserts([insert(table(), "a"), insert(table(), "b")])
    assert asked == ["a", "b"]
    assert "c.d.a" in text and "c.d.b" in text
    assert not env._list_sinks()
