"""A catalog in a file: what comes back, two sessions at the same time, files that are damaged."""

from __future__ import annotations

import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import CatalogError
from headrace.sql.catalog.ddl import from_ddl, to_ddl
from headrace.sql.catalog.execute import execute
from headrace.sql.catalog.file import FileCatalog
from headrace.sql.catalog.listing import Listing
from headrace.sql.catalog.manager import CatalogManager
from headrace.sql.catalog.memory import MemoryCatalog
from headrace.sql.catalog.objects import CatalogFunction, CatalogTable, CatalogView, PlanView
from headrace.sql.definitions import PhysicalColumn
from headrace.sql.parsing import parse
from headrace.sql.rel import Values
from headrace.sql.types import INT, quote_name
from tests.unit.sql.catalog.conftest import SOURCE, TYPES

Run = Callable[[str], Listing | None]


class Session:
    """A session whose catalog ``c`` is in a file, and is current."""

    def __init__(self, path: Path, name: str = "c") -> None:
        self.manager = CatalogManager()
        self(f"CREATE CATALOG {name} WITH ('type' = 'file', 'path' = '{path}'); USE CATALOG {name}")

    def __call__(self, text: str) -> Listing | None:
        result = None
        for statement in parse(text):
            result = execute(statement, self.manager, TYPES)
        return result

    def names(self) -> list[str]:
        return self.manager.relations()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "catalog.sql"


DEFINITIONS = f"""
    {SOURCE};
    CREATE DATABASE `my db` COMMENT 'it''s' WITH ('k' = 'v');
    CREATE TABLE `my db`.`t``1` (
        a BIGINT, b AS a  *  2, PRIMARY KEY (a) NOT ENFORCED
    ) DISTRIBUTED BY HASH(a) INTO 4 BUCKETS WITH ('p' = 'line
end');
    CREATE VIEW v (x) COMMENT 'view' AS SELECT a -- the a
        FROM src WHERE b = ';';
    USE `my db`;
    CREATE VIEW w AS SELECT a FROM `t``1`;
    USE default_catalog.default_database;
    CREATE VIEW c.`my db`.u AS SELECT 1 AS a;
    USE CATALOG c;
    CREATE FUNCTION f AS 'module.f' LANGUAGE PYTHON;
"""


def test_what_is_defined_is_there_in_the_next_session(path: Path) -> None:
    first = Session(path)
    first(DEFINITIONS)
    second = Session(path)
    for name in ("src", "v", "`my db`.`t``1`", "`my db`.w", "`my db`.u"):
        (query,) = parse(f"DESCRIBE {name}")
        place = query.path  # type: ignore[attr-defined]
        assert second.manager.relation(place).relation == first.manager.relation(place).relation
    assert second.manager.database(("my db",)) == first.manager.database(("my db",))
    assert second.manager.function(("f",)) == CatalogFunction("module.f", "PYTHON")


def test_the_text_of_a_file_can_be_read_by_people(path: Path) -> None:
    Session(path)("CREATE TABLE t (a INT, b AS a+1) WITH ('connector' = 'print')")
    assert path.read_text() == (
        "-- Headrace catalog, version 1\n\n"
        "CREATE DATABASE `default`;\n\n"
        "CREATE TABLE `default`.`t` (\n  `a` INT,\n  `b` AS a+1\n)\n"
        "WITH (\n  'connector' = 'print'\n);\n\n"
    )


def test_names_of_a_view_follow_the_name_of_its_catalog(path: Path) -> None:
    Session(path)("CREATE DATABASE d; USE d; CREATE VIEW v AS SELECT 1 AS a")
    other = Session(path, "other")
    view = other.manager.relation(("d", "v")).relation
    assert isinstance(view, CatalogView) and view.database == ("other", "d")


def test_two_sessions_see_each_others_changes(path: Path) -> None:
    first, second = Session(path), Session(path)
    first("CREATE TABLE t (a INT)")
    assert second.names() == ["t"]
    second("ALTER TABLE t ADD b INT; CREATE TABLE u (a INT)")
    first("DROP TABLE u; ALTER TABLE t RENAME TO s")
    assert second.names() == ["s"]
    assert [each.name for each in second.manager.table(("s",)).columns] == ["a", "b"]
    with pytest.raises(CatalogError, match="exists already"):
        second("CREATE TABLE s (a INT)")
    first("DROP DATABASE IF EXISTS d; CREATE DATABASE d; DROP DATABASE d")
    assert second.manager.databases() == ["default"]


def test_writers_at_the_same_time_lose_nothing(path: Path) -> None:
    errors: list[Exception] = []

    def define(number: int) -> None:
        session = Session(path)
        for count in range(10):
            try:
                session(f"CREATE TABLE t{number}_{count} (a INT); CREATE TABLE same{count} (a INT)")
            except CatalogError as error:
                errors.append(error)

    threads = [threading.Thread(target=define, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(Session(path).names()) == 40
    assert len(errors) == 20  # each of ten tables was made once


def test_a_failed_change_writes_nothing(path: Path) -> None:
    session = Session(path)
    session("CREATE TABLE t (a INT)")
    before = path.read_text()
    catalog = session.manager.registry.catalog("c")
    with pytest.raises(RuntimeError), catalog.writing():
        catalog.drop_relation("default", "t")
        raise RuntimeError
    assert path.read_text() == before
    assert session.names() == ["t"]


def test_a_link_stays_a_link(path: Path) -> None:
    path.with_name("link").symlink_to(path)
    first, other = Session(path), Session(path.with_name("link"))
    first(SOURCE)
    other("CREATE VIEW v AS SELECT 1 AS n")
    assert path.with_name("link").is_symlink()
    assert first.names() == other.names() != []
    assert not path.with_name("link.lock").exists()


def test_a_file_keeps_its_mode(path: Path) -> None:
    session = Session(path)
    session("CREATE TABLE t (a INT)")
    path.chmod(0o640)
    session("CREATE TABLE u (a INT)")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


DAMAGED = "-- Headrace catalog, version 1\nCREATE DATABASE `default`;\n"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("CREATE DATABASE d;", "not a catalog of this version"),
        ("", "not a catalog of this version"),
        (DAMAGED + "CREATE TABLE `default`.t (a INT", "line 3, column 32"),
        (DAMAGED + "CREATE TABLE d.t (a INT);", "line 3: `d`.`t` is in no database"),
        (
            DAMAGED + "CREATE TABLE `default`.t (a INT, a INT);",
            "line 3: the column `a` occurs twice",
        ),
        (DAMAGED + "SELECT 1;", "line 3: a catalog has no Query"),
        (DAMAGED + DAMAGED, "`default` occurs twice"),
    ],
)
def test_a_damaged_file_is_refused_and_kept(path: Path, text: str, problem: str) -> None:
    session = Session(path)
    session("CREATE TABLE t (a INT)")
    path.write_text(text)
    for use in (session.names, lambda: session("CREATE TABLE u (a INT)"), lambda: Session(path)):
        with pytest.raises(CatalogError, match="the file of the catalog cannot be read") as refused:
            use()
        assert problem in str(refused.value) and str(path) in str(refused.value)
    assert path.read_text() == text


def test_a_file_that_has_gone_is_not_made_anew(path: Path) -> None:
    session = Session(path)
    session("CREATE TABLE t (a INT)")
    path.unlink()
    with pytest.raises(CatalogError, match="has been removed"):
        session("CREATE TABLE u (a INT)")
    assert not path.exists()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ("'type' = 'file'", "needs the option 'path'"),
        ("'type' = 'file', 'pth' = 'x'", "has no option 'pth'"),
        ("'type' = 'file', 'path' = '/no/such/folder/x'", "does not exist"),
        ("'type' = 'file', 'path' = 's3://bucket/x'", "a file of this machine"),
        ("'type' = 'jdbc'", "no catalog of the type 'jdbc'"),
    ],
)
def test_wrong_options_are_refused(run: Run, options: str, problem: str) -> None:
    with pytest.raises(CatalogError, match=problem):
        run(f"CREATE CATALOG c WITH ({options})")


def test_what_a_program_made_is_not_kept(path: Path) -> None:
    catalog = FileCatalog("c", str(path), "default")
    with pytest.raises(CatalogError, match="of a program is not kept"):
        catalog.put_relation("default", "v", PlanView(Values((), ())))
    with pytest.raises(CatalogError, match="of a program is not kept"):
        catalog.put_function("default", "f", CatalogFunction(implementation=len))


# The property: what is written is read

NAMES = st.text("aB_ `é;'-\"", min_size=1, max_size=6)
TEXTS = st.text("aB ';`\n-/*\\é", max_size=8)
TYPES_OF_COLUMNS = st.recursive(
    st.sampled_from(
        [
            *("INT", "BIGINT NOT NULL", "DECIMAL(10, 2)", "STRING", "BYTES", "CHAR(3)", "DATE"),
            *("TIME(3)", "TIMESTAMP(3)", "TIMESTAMP_LTZ(6) NOT NULL", "DOUBLE", "BOOLEAN"),
            *("VARCHAR(7)", "BINARY(2)", "TINYINT", "FLOAT"),
        ]
    ),
    lambda kinds: st.one_of(
        st.builds("ARRAY<{}>".format, kinds),
        st.builds("MAP<{}, {}>".format, kinds, kinds),
        st.builds("MULTISET<{}> NOT NULL".format, kinds),
        st.builds("ROW<a {}, `b c` {}>".format, kinds, kinds),
    ),
    max_leaves=3,
)


def text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


@st.composite
def create_table(draw: st.DrawFn) -> str:
    """A CREATE TABLE of any shape."""
    names = draw(st.lists(NAMES, min_size=2, max_size=5, unique=True))
    columns = []
    for number, name in enumerate(names):
        comment = draw(st.one_of(st.none(), TEXTS))
        tail = "" if comment is None else f" COMMENT {text(comment)}"
        kind = draw(TYPES_OF_COLUMNS)
        shapes = ["{}", "{} METADATA", f"{{}} METADATA FROM 'k''{number}' VIRTUAL"]
        shape = draw(st.sampled_from(shapes))
        columns.append(f"{quote_name(name)} {shape.format(kind)}{tail}")
    if draw(st.booleans()):
        columns.append("`computed x` AS CASE WHEN 1 > 0 THEN 'a;' ELSE /* c */ 'b' END")
    if draw(st.booleans()):
        columns.append("`at` TIMESTAMP(3), WATERMARK FOR `at` AS `at`  - INTERVAL '5' SECOND")
    if draw(st.booleans()):
        columns.append("`key` INT, PRIMARY KEY (`key`) NOT ENFORCED")
    options = draw(st.dictionaries(TEXTS.filter(bool), TEXTS, max_size=3))
    found = f"CREATE TABLE t ({', '.join(columns)})"
    if draw(st.booleans()):
        found += f" COMMENT {text(draw(TEXTS))}"
    if draw(st.booleans()):
        found += f" PARTITIONED BY ({quote_name(names[0])})"
    if options:
        pairs = ", ".join(f"{text(key)} = {text(value)}" for key, value in options.items())
        found += f" WITH ({pairs})"
    return found


@given(create_table())
def test_every_table_comes_back(statement: str) -> None:
    manager = CatalogManager()
    execute(parse(statement)[0], manager, TYPES)
    table = manager.table(("t",))
    content = MemoryCatalog()
    content.put_relation("default", "t", table)
    written = to_ddl(content, "c")
    read = from_ddl(written, "c", "default")
    assert read.relation("default", "t") == table
    assert to_ddl(read, "c") == written


@given(NAMES, NAMES, TEXTS)
def test_every_name_comes_back(database: str, name: str, comment: str) -> None:
    content = MemoryCatalog(database)
    content.put_relation(database, name, CatalogTable((PhysicalColumn(name, INT, comment),)))
    content.put_function(database, name.lower(), CatalogFunction(comment or "f"))
    read = from_ddl(to_ddl(content, "c"), "c", database)
    assert read.databases() == [database]
    assert read.relation(database, name) == content.relation(database, name)
    assert read.function(database, name.lower()) == content.function(database, name.lower())
