"""Plans, tables and environments for tests of planning."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.common.configuration import Configuration
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.sql.catalog.objects import CatalogTable, ObjectPath
from headrace.sql.definitions import ColumnDefinition, PhysicalColumn, PrimaryKeyDefinition
from headrace.sql.rel import Aggregate, AggregateCall, Column, Values
from headrace.sql.types import BIGINT, INT, STRING
from headrace.table._planning.planner import Planner
from headrace.table._planning.streams import ProgramStreams
from headrace.table._planning.targets import PlannedInsert, Target

K, V = Column("k", STRING.with_nullable(False)), Column("v", INT)
NO_ROWS = Values((), (K, V))
COUNTS = Aggregate(NO_ROWS, ("k",), (AggregateCall("n", "COUNT", (), BIGINT),))
"""A plan whose rows change."""


def environment(**settings: str) -> StreamExecutionEnvironment:
    given = {"execution.target": "local", **settings}
    return StreamExecutionEnvironment(Configuration.from_dict(given))


def planner_of(env: StreamExecutionEnvironment) -> Planner:
    return Planner(env, ProgramStreams(env))


def table(
    *columns: ColumnDefinition, connector: str = "blackhole", key: Sequence[str] = (), **more: str
) -> CatalogTable:
    given = columns or (PhysicalColumn("k", STRING), PhysicalColumn("v", BIGINT))
    return CatalogTable(
        given,
        (("connector", connector), *more.items()),
        primary_key=PrimaryKeyDefinition((*key,)) if key else None,
    )


def target(definition: CatalogTable, name: str = "t") -> Target:
    return Target(ObjectPath("c", "d", name), definition)


def insert(definition: CatalogTable, name: str = "t") -> PlannedInsert:
    return PlannedInsert(NO_ROWS, target(definition, name))
