"""A session without a resolver: queries have a column for each item, computed columns are INT."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlglot import exp

from headrace.sql.catalog.execute import execute
from headrace.sql.catalog.listing import Listing
from headrace.sql.catalog.manager import CatalogManager
from headrace.sql.catalog.query_types import Types
from headrace.sql.parsing import parse
from headrace.sql.rel import Column, Columns
from headrace.sql.types import INT, TimestampLtzType

Run = Callable[[str], Listing | None]


def _columns(query: exp.Expr) -> Columns:
    return tuple(Column(each.alias_or_name, INT) for each in query.expressions)


TYPES = Types(
    of_query=_columns,
    of_view=lambda view: _columns(view.query),
    of_computed=lambda _, column: (
        TimestampLtzType(3, "proctime", nullable=False)
        if column.text == "PROCTIME()"
        else INT.with_nullable(False)
    ),
    check=lambda table: None,
)


@pytest.fixture
def manager() -> CatalogManager:
    return CatalogManager()


@pytest.fixture
def run(manager: CatalogManager) -> Run:
    """Run statements; the result of the last one."""

    def run(text: str) -> Listing | None:
        result = None
        for statement in parse(text):
            result = execute(statement, manager, TYPES)
        return result

    return run


SOURCE = """
    CREATE TABLE src (
        a INT NOT NULL COMMENT 'the a',
        b STRING,
        c AS a + 1 COMMENT 'plus',
        d TIMESTAMP(3) METADATA FROM 'timestamp' VIRTUAL,
        e AS PROCTIME(),
        f ROW<x INT, y STRING NOT NULL>,
        g TIMESTAMP_LTZ(3),
        WATERMARK FOR g AS g - INTERVAL '5' SECOND,
        PRIMARY KEY (a) NOT ENFORCED
    ) COMMENT 'a table' PARTITIONED BY (b) WITH ('topic' = 'it''s', 'connector' = 'kafka')
"""


@pytest.fixture
def source(run: Run) -> None:
    run(SOURCE)
