"""What names mean in queries: tables, views, and functions of a database."""

from __future__ import annotations

import pytest

from headrace.common.configuration import Configuration
from headrace.errors import CatalogError, SqlValidationError
from headrace.sql import statements as parsed
from headrace.sql.catalog.execute import execute
from headrace.sql.catalog.objects import ObjectPath, PlanView
from headrace.sql.parsing import parse_one
from headrace.sql.rel import Rel, Scan, walk
from headrace.table._planning.catalogs import catalogs_of
from headrace.table._planning.queries import Queries
from tests.unit.table._planning.plans import NO_ROWS, table

pytest.importorskip("sqlglot")


class Names:
    """Catalogs with what statements define, and queries of them."""

    def __init__(self) -> None:
        configuration = Configuration()
        self.catalogs = catalogs_of(configuration, "c", "d")
        self.queries = Queries(self.catalogs, configuration)

    def define(self, text: str) -> None:
        execute(parse_one(text, "a test"), self.catalogs, self.queries.types)

    def query(self, text: str) -> Rel:
        statement = parse_one(text, "a test")
        assert isinstance(statement, parsed.Query)
        return self.queries.of_sql(statement.tree)

    def scanned(self, text: str) -> list[tuple[str, ...]]:
        return [each.table for each in walk(self.query(text)) if isinstance(each, Scan)]


@pytest.fixture
def names() -> Names:
    made = Names()
    made.catalogs.create_relation(("t",), table())
    return made


def test_names_are_of_the_current_database(names: Names) -> None:
    assert names.scanned("SELECT k FROM t") == [("c", "d", "t")]
    assert names.scanned("SELECT k FROM d.t") == names.scanned("SELECT k FROM c.d.t")
    names.define("CREATE DATABASE other")
    names.define("USE other")
    with pytest.raises(CatalogError, match="other"):
        names.query("SELECT k FROM t")


def test_names_in_a_view_are_of_its_database(names: Names) -> None:
    names.define("CREATE VIEW w AS SELECT k FROM t")
    names.define("CREATE DATABASE other")
    names.define("USE other")
    assert names.scanned("SELECT * FROM d.w") == [("c", "d", "t")]


def test_columns_of_a_view_have_its_names(names: Names) -> None:
    names.define("CREATE VIEW w (name, total) AS SELECT k, v FROM t")
    assert [each.name for each in names.query("SELECT * FROM w").columns] == ["name", "total"]


def test_a_view_with_an_error_is_named(names: Names) -> None:
    names.define("CREATE VIEW w AS SELECT k FROM t")
    names.catalogs.drop_relation(("t",), "table")
    with pytest.raises(CatalogError) as caught:
        names.query("SELECT * FROM w")
    assert caught.value.where["view"] == "`c`.`d`.`w`"
    names.catalogs.create_relation(("t",), table())
    assert names.query("SELECT * FROM w").columns, "after an error the view is read again"


def test_options_are_of_tables(names: Names) -> None:
    names.define("CREATE VIEW w AS SELECT k FROM t")
    with pytest.raises(SqlValidationError, match="is a view, and OPTIONS are those of a table"):
        names.query("SELECT * FROM w /*+ OPTIONS('a' = 'b') */")


def test_a_plan_is_a_view(names: Names) -> None:
    names.catalogs.create_relation(("p",), PlanView(NO_ROWS), temporary=True)
    assert names.queries.relation(ObjectPath("c", "d", "p"), {}) is NO_ROWS


def test_the_target_of_an_insert_has_its_full_name(names: Names) -> None:
    statement = parse_one("INSERT INTO t (v, k) SELECT 1, 'a'", "a test")
    assert isinstance(statement, parsed.Insert)
    made = names.queries.insert(statement)
    assert made.target.full_name == "c.d.t"
    assert [each.name for each in made.rel.columns] == ["k", "v"]
