"""The connectors of PostgreSQL against a real one."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from headrace.common import Row, Time, Types, WatermarkStrategy
from headrace.connector import (
    Budget,
    DeliveryGuarantee,
    Sink,
    Source,
    SplitRange,
    WorkerResources,
    WriterContext,
)
from headrace.datastream import AsyncDataStream, LookupCache, StreamExecutionEnvironment
from headrace.datastream.connectors.jdbc import (
    JdbcConnectionOptions,
    JdbcExecutionOptions,
    JdbcSink,
)
from headrace.datastream.connectors.postgres import (
    PostgresLookup,
    PostgresSink,
    PostgresSnapshotSource,
)
from headrace.errors import CheckpointError, JobError, PlanError
from headrace.testing import run_pipeline
from headrace.testing._contracts import SinkContract, SourceContract, read_source

pytestmark = pytest.mark.spark

PRICES = "CREATE TABLE prices (id int PRIMARY KEY, price double precision)"


def rows(database: Any, table: str) -> list[tuple[Any, ...]]:
    return sorted(database.execute(f"SELECT * FROM {table}").fetchall())


def write(sink: Sink, values: Sequence[Any], batch: int = 0, worker: Any = None) -> None:
    mine = worker or WorkerResources()
    writer = sink.writer(WriterContext("sink", "job", batch, 0, "a", 1, mine))
    writer.write(values, [None] * len(values))
    writer.prepare_commit()
    if worker is None:
        mine.close()


class TestAppendingSink(SinkContract):
    @pytest.fixture(autouse=True)
    def table(self, database: Any) -> None:
        self.database = database
        database.execute("CREATE TABLE log (value text)")

    def make_sink(self, folder: Path) -> Sink:
        return PostgresSink(self.database.url, table="log", columns=["value"], values=in_a_list)

    def values(self, count: int) -> list[Any]:
        return [f"record {index}\t\\N" for index in range(count)]

    def published(self, folder: Path) -> list[Any]:
        return [value for (value,) in rows(self.database, "log")]


def in_a_list(value: Any) -> list[Any]:
    return [value]


class TestCountingByStatement(TestAppendingSink):
    """A statement that would count twice what is written twice."""

    def make_sink(self, folder: Path) -> Sink:
        self.database.execute("CREATE TABLE total (n int); INSERT INTO total VALUES (0)")
        sql = "WITH more AS (UPDATE total SET n = n + 1) INSERT INTO log VALUES (%s)"
        return PostgresSink(self.database.url, sql=sql, values=in_a_list, batch_rows=3)

    def check(self, folder: Path, expected: Sequence[Any]) -> None:
        super().check(folder, expected)
        assert rows(self.database, "total") == [(len(expected),)]


class TestSnapshot(SourceContract):
    """Rows of a table with a composite key, however the table changes meanwhile."""

    @pytest.fixture(autouse=True)
    def table(self, database: Any) -> None:
        self.database = database
        database.execute("CREATE TABLE facts (b text, n int, a text, PRIMARY KEY (a, b))")
        database.execute(
            "INSERT INTO facts SELECT chr(97 + n % 7), n, n::text FROM generate_series(1, 40) n"
        )

    def make_source(self, folder: Path) -> Source:
        return PostgresSnapshotSource(self.database.url, "facts", columns=["n", "b"])

    def expected(self) -> Sequence[Any]:
        return [Row(n=n, b=chr(97 + n % 7)) for n in range(1, 41)]

    def grow(self, folder: Path) -> None:
        self.database.execute("DELETE FROM facts WHERE n < 20; UPDATE facts SET n = -n")
        self.database.execute("INSERT INTO facts VALUES ('x', 5, '5'), ('y', 1000, '33')")


def test_a_snapshot_that_has_ended_is_not_taken_for_another(database: Any, tmp_path: Path) -> None:
    """Neither where its name is unknown, nor where a restarted server has given it again."""
    database.execute(PRICES + "; INSERT INTO prices SELECT n, n FROM generate_series(1, 10) n")
    source = PostgresSnapshotSource(database.url, "prices")
    first = source.enumerator(str(tmp_path)).initial(0)
    source.close()
    database.execute("DELETE FROM prices")
    other = PostgresSnapshotSource(database.url, "prices")
    enumerator, reader = other.enumerator(str(tmp_path)), other.reader()
    snapshot, key = source.snapshot, source.ranged_by
    for lost in (snapshot, replace(snapshot, name=other.snapshot.name)):
        position = {**first["rows"], "snapshot": [lost.name, lost.sees]}
        with pytest.raises(CheckpointError, match="the job began to read has ended"):
            enumerator.advance({"rows": position}, Budget(10, 1000), 0, frozenset())
        with pytest.raises(CheckpointError, match="--fresh starts anew"):
            list(reader.read(SplitRange("rows", None, None, (lost, key))))
    assert [*reader.read(SplitRange("rows", None, None, (other.snapshot, key)))] == []
    for each in (enumerator, reader, other):
        each.close()


@pytest.mark.parametrize(
    ("ddl", "given", "words"),
    [
        ("", {}, "no table"),
        ("CREATE TABLE t (id int)", {}, "no primary key"),
        ("CREATE TABLE t (id int UNIQUE)", {"key": ["id"]}, "no unique index without nulls on id"),
    ],
)
def test_a_table_without_a_key_is_refused(database: Any, ddl: str, given: Any, words: str) -> None:
    if ddl:
        database.execute(ddl)
    with pytest.raises(PlanError, match=words):
        PostgresSnapshotSource(database.url, "t", **given)


def test_any_unique_key_will_do(database: Any, tmp_path: Path) -> None:
    database.execute("CREATE TABLE t (id uuid UNIQUE NOT NULL, at timestamptz)")
    database.execute("INSERT INTO t SELECT gen_random_uuid(), now() FROM generate_series(1, 12)")
    source = PostgresSnapshotSource(database.url, "t", key=["id"], columns=["id"])
    found = [row.id for row in read_source(source, tmp_path).all()]
    assert sorted(found) == [id for id, _ in rows(database, "t")]


def test_upserts_keep_the_last_row_of_a_key(database: Any) -> None:
    database.execute(PRICES)
    sink = PostgresSink(database.url, table="prices", columns=["id", "price"], key=["id"])
    write(sink, [{"id": 1, "price": 1.5}, Row(id=2, price=7.0), (1, 2.5)])
    write(sink, [Row(3, 9.0), (2, None)], batch=1)
    assert rows(database, "prices") == [(1, 2.5), (2, None), (3, 9.0)]


def test_a_dict_goes_into_json_and_lists_into_arrays(database: Any) -> None:
    database.execute("CREATE TABLE documents (body jsonb, tags text[])")
    for batch, key in enumerate([(), ("tags",)]):
        if key:
            database.execute("CREATE UNIQUE INDEX ON documents (tags)")
        sink = PostgresSink(database.url, table="documents", columns=["body", "tags"], key=key)
        write(sink, [({"a": [1, "ü"]}, [f"x{batch}", "y"])], batch)
    assert database.execute("SELECT * FROM documents ORDER BY tags").fetchall() == [
        ({"a": [1, "ü"]}, [f"x{batch}", "y"]) for batch in range(2)
    ]


def jdbc(database: Any, sql: str, type_info: Any, **options: Any) -> Sink:
    host, port = database.info.host, database.info.port
    (schema,) = database.execute("SELECT current_schema()").fetchone()
    where = (
        JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
        .with_url(f"jdbc:postgresql://{host}:{port}/postgres?currentSchema={schema}")
        .with_driver_name("org.postgresql.Driver")
        .with_user_name("headrace")
        .with_password(database.info.password)
        .build()
    )
    how = JdbcExecutionOptions.builder().with_batch_size(2).with_max_retries(1).build()
    return JdbcSink.sink(sql, type_info, where, how, **options)


@pytest.mark.capability("Redis and PostgreSQL as sinks, exactly once", runners="local")
@pytest.mark.parametrize("restarts", [False, True])
def test_a_pyflink_program_counts_once_over_one_connection(database: Any, restarts: bool) -> None:
    """Micro-batches of the program are committed one by one, each anew after a restart."""
    database.execute("CREATE TABLE sums (k text PRIMARY KEY, n int, times int DEFAULT 1)")
    row_type = Types.ROW_NAMED(["k", "n"], [Types.STRING(), Types.INT()])
    sql = """INSERT INTO sums (k, n) VALUES (?, ?) ON CONFLICT (k) DO UPDATE
        SET n = sums.n + EXCLUDED.n, times = sums.times + 1 -- really?"""

    def program(env: StreamExecutionEnvironment) -> Any:
        numbers = env.from_collection([*range(60)], Types.INT())
        keyed = numbers.map(lambda n: Row(k=str(n % 3), n=n), row_type)
        keyed.add_sink(jdbc(database, sql, row_type))
        return keyed

    before = sessions(database)
    run_pipeline(program, cuts=[7] * 5, backends="paged", restarts=restarts)
    assert rows(database, "sums") == [(str(k), sum(range(k, 60, 3)), 20) for k in range(3)]
    if not restarts:
        assert sessions(database) - before == 1


def sessions(database: Any) -> int:
    """How many connections there have been."""
    database.execute("SELECT pg_stat_force_next_flush()")
    sql = "SELECT sessions FROM pg_stat_database WHERE datname = 'postgres'"
    (count,) = database.execute(sql).fetchone()
    return int(count)


def test_types_of_jdbc_rows(database: Any) -> None:
    database.execute("CREATE TABLE t (i smallint, d numeric, s text, b bytea, f real, a int[])")
    kinds = [Types.SHORT(), Types.BIG_DEC(), Types.STRING(), Types.PRIMITIVE_ARRAY(Types.BYTE())]
    kinds += [Types.FLOAT(), Types.PRIMITIVE_ARRAY(Types.INT())]
    sink = jdbc(database, "INSERT INTO t VALUES (?, ?, ?, ?, ?, ?)", Types.ROW(kinds))
    write(sink, [Row(7, Decimal("1.10"), "50% 'o'", b"\x00\xff", 0.1, [1, 2])])
    write(sink, [Row(None, None, None, None, None, None)], batch=1)
    assert database.execute("SELECT * FROM t WHERE i = 7").fetchall() == [
        (7, Decimal("1.10"), "50% 'o'", b"\x00\xff", pytest.approx(0.1), [1, 2])
    ]
    assert database.execute("SELECT count(*) FROM t").fetchone() == (2,)


def test_numbers_have_their_declared_types(database: Any) -> None:
    """Small ints as int2 would overflow where the Java driver's int4 does not."""
    database.execute("CREATE TABLE t (n bigint, kinds text)")
    sql = "INSERT INTO t SELECT a * a, pg_typeof(a) || ' ' || pg_typeof(b) || ' ' || pg_typeof(c)"
    sql += " FROM (SELECT ? AS a, ? AS b, ? AS c) AS given"
    write(jdbc(database, sql, Types.ROW([Types.INT(), Types.LONG(), Types.FLOAT()])), [(300, 1, 2)])
    assert rows(database, "t") == [(90000, "integer bigint real")]


def test_two_attempts_at_once_write_once(database: Any) -> None:
    """A task that was taken for dead is still committing when the other one starts."""
    import psycopg

    database.execute(PRICES)
    sink = PostgresSink(database.url, table="prices", columns=["id", "price"])
    write(sink, [(0, 0.0)])
    with psycopg.connect(database.url) as dead:
        dead.execute("UPDATE headrace_markers SET batch_id = 1")
        dead.execute("INSERT INTO prices VALUES (1, 1.0)")
        alive = threading.Thread(target=write, args=(sink, [(1, 1.0)], 1))
        alive.start()
        waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted"
        while not database.execute(waiting).fetchone()[0]:
            pass
        dead.commit()
    alive.join()
    assert rows(database, "prices") == [(0, 0.0), (1, 1.0)]


def test_a_commit_whose_answer_is_lost_counts_once(database: Any) -> None:
    from psycopg import OperationalError

    database.execute(PRICES)
    sink = PostgresSink(database.url, table="prices", columns=["id", "price"])
    write(sink, [(0, 0.0)])  # the markers are there
    worker = WorkerResources()
    context = WriterContext("sink", "job", 1, 0, "a", 1, worker)
    cut = context.shared("connection", sink._postgres_connection.open)
    inner = cut.transaction

    @contextmanager
    def transaction() -> Iterator[None]:
        with inner():
            yield
        cut.close()
        raise OperationalError("the connection was lost")

    cut.transaction = transaction
    write(sink, [(1, 1.0)], 1, worker)
    assert context.shared("connection", pytest.fail) is not cut
    assert rows(database, "prices") == [(0, 0.0), (1, 1.0)]
    worker.close()


def test_a_deadlock_is_tried_again(database: Any) -> None:
    """A trigger fails as a deadlock would, so often."""
    from psycopg.errors import DeadlockDetected

    database.execute(PRICES + "; CREATE SEQUENCE attempts")
    database.execute(
        """CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF nextval('attempts') <= 2 THEN RAISE EXCEPTION 'x' USING ERRCODE = '40P01'; END IF;
        RETURN NEW; END $$; CREATE TRIGGER t BEFORE INSERT ON prices
        FOR EACH ROW EXECUTE FUNCTION fail()"""
    )
    given: Any = {"table": "prices", "columns": ["id", "price"]}
    with pytest.raises(DeadlockDetected):
        write(PostgresSink(database.url, max_retries=0, **given), [(1, 1.0)])
    write(PostgresSink(database.url, max_retries=1, **given), [(1, 1.0)])
    assert rows(database, "prices") == [(1, 1.0)]


def test_a_row_that_is_refused_takes_the_others_with_it(database: Any) -> None:
    import psycopg

    database.execute(PRICES)
    sink = PostgresSink(database.url, table="prices", columns=["id", "price"])
    with pytest.raises(psycopg.errors.UniqueViolation):
        write(sink, [(1, 1.0), (2, 2.0), (1, 3.0)])
    assert rows(database, "prices") == []
    write(sink, [(1, 1.0), (2, 2.0)])  # the marker was taken back, too
    assert len(rows(database, "prices")) == 2


TAKEN = [(1, 1.0), (2, 2.0)]
PRICE = "INSERT INTO prices VALUES (%s, %s)"


@pytest.mark.parametrize(
    "given",
    [
        {"table": "prices", "columns": ["id", "price"]},
        {"table": "prices", "columns": ["id", "price"], "key": ["id"]},
        {"sql": PRICE, "values": tuple},
        {"sql": PRICE, "values": tuple, "batch_rows": 1},
        {"sql": PRICE, "values": tuple, "batch_rows": 0},
    ],
    ids=["copy", "upsert", "statement", "one by one", "all at once"],
)
@pytest.mark.parametrize(
    ("row", "words"),
    [
        ((3, "x"), "invalid input syntax"),
        ((None, 3.0), "null value in column"),
        ((2**40, 3.0), "integer"),
        ((3, "a\0b"), "NUL"),
        ((3, object()), "cannot adapt"),
        ((3, {"a": object()}), "not JSON serializable"),
        ((3, -1.0), "violates check constraint"),
        ((3, 1e9), "too dear"),
    ],
)
def test_the_row_that_is_refused_is_named(
    database: Any, given: Any, row: tuple[Any, ...], words: str
) -> None:
    """By the server, the client, a function for JSON or a trigger; nothing is written."""
    database.execute(PRICES)
    database.execute("ALTER TABLE prices ADD CHECK (price >= 0)")
    database.execute(
        """CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF NEW.price > 1000 THEN RAISE EXCEPTION 'too dear'; END IF; RETURN NEW; END $$;
        CREATE TRIGGER t BEFORE INSERT ON prices FOR EACH ROW EXECUTE FUNCTION refuse()"""
    )
    sink = PostgresSink(database.url, **given)
    with pytest.raises(Exception, match=words) as caught:
        write(sink, [*TAKEN, row, (4, 4.0), (5, "y")])
    assert caught.value.__notes__ == [f"the row that was refused: {row!r}"]
    assert rows(database, "prices") == []
    write(sink, TAKEN)
    assert rows(database, "prices") == TAKEN


@pytest.mark.parametrize("key", [(), ("id",)])
def test_no_row_is_named_where_none_would_be_taken(database: Any, key: Any) -> None:
    sink = PostgresSink(database.url, table="missing", columns=["id", "price"], key=key)
    with pytest.raises(Exception, match="does not exist") as caught:
        write(sink, TAKEN)
    assert not hasattr(caught.value, "__notes__")


def test_a_record_whose_values_cannot_be_taken_is_named(database: Any) -> None:
    database.execute(PRICES)
    sink = PostgresSink(database.url, sql=PRICE, values=lambda record: (record["id"], 1.0))
    with pytest.raises(KeyError) as caught:
        write(sink, [{"id": 1}, {"name": "ann"}])
    assert caught.value.__notes__ == ["the record: {'name': 'ann'}"]


def test_a_user_who_may_make_no_table_is_reported(database: Any) -> None:
    database.execute(PRICES)
    database.execute(
        "DROP ROLE IF EXISTS guest; CREATE ROLE guest LOGIN PASSWORD 's3cret'; "
        "GRANT INSERT ON prices TO guest"
    )
    (schema,) = database.execute("SELECT current_schema()").fetchone()
    database.execute(f"GRANT USAGE ON SCHEMA {schema} TO guest")
    url = f"postgresql://guest@{database.url.rpartition('@')[2]}"
    given: Any = {"table": "prices", "columns": ["id", "price"], "password": "s3cret"}
    with pytest.raises(JobError, match="cannot be created") as caught:
        write(PostgresSink(url, **given), [(1, 1.0)])
    assert "CREATE TABLE IF NOT EXISTS" in str(caught.value)
    write(PostgresSink(url, guarantee=DeliveryGuarantee.AT_LEAST_ONCE, **given), [(1, 1.0)])
    assert rows(database, "prices") == [(1, 1.0)]
    with pytest.raises(Exception, match="authentication failed") as refused:
        write(PostgresSink(url, **{**given, "password": "wrong-s3cret"}), [(2, 1.0)])
    assert "wrong-s3cret" not in str(refused.value)
    database.execute("DROP OWNED BY guest; DROP ROLE guest")


def test_what_is_wrong_is_reported_at_once(database: Any) -> None:
    """A table that is not there, a wrong password: waiting would not help."""
    url = f"postgresql://nobody:s3cret@{database.url.rpartition('@')[2]}"
    for given, table, words in (
        (database.url, "missing", '"missing" does not exist'),
        (url, "prices", "authentication failed"),
    ):
        with pytest.raises(Exception, match=words) as caught:
            write(PostgresSink(given, table=table, columns=["id"]), [(1,)])
        lookup = PostgresLookup(given, f"SELECT * FROM {table} WHERE id = %s")
        with pytest.raises(Exception, match=words) as asked:
            run_pipeline(partial(looked_up, lookup))
        assert "s3cret" not in f"{caught.value} {asked.value}"


def looked_up(lookup: PostgresLookup, env: StreamExecutionEnvironment) -> Any:
    return AsyncDataStream.ordered_wait(env.from_collection([1]), lookup, Time.seconds(30))


@pytest.fixture
def names(database: Any) -> Iterator[Any]:
    database.execute("CREATE TABLE names (id int, name text)")
    database.execute("INSERT INTO names VALUES (1, 'ann'), (2, 'bob'), (2, 'rob')")
    yield database


@pytest.mark.capability("Lookups in Redis, in PostgreSQL and over HTTP", runners="local")
def test_a_lookup(names: Any) -> None:
    lookup = PostgresLookup(
        names.url,
        "SELECT name, id FROM names WHERE id = %s ORDER BY name",
        key=lambda click: click[0],
        join=lambda click, found: [(*click, row.name) for row in found] or [(*click, None)],
        connections=2,
    )

    def program(env: StreamExecutionEnvironment) -> Any:
        clicks = env.from_collection([(1, "home"), (2, "cart"), (3, "cart")] * 20)
        return AsyncDataStream.ordered_wait(clicks, lookup, Time.seconds(30))

    before = sessions(names)
    found = run_pipeline(program, cuts=[10] * 3).only
    assert (
        found
        == [
            (1, "home", "ann"),
            (2, "cart", "bob"),
            (2, "cart", "rob"),
            (3, "cart", None),
        ]
        * 20
    )
    assert sessions(names) - before <= 2


def test_a_lookup_with_a_cache(names: Any) -> None:
    lookup = PostgresLookup(names.url, "SELECT * FROM names WHERE id = %s")
    cache = LookupCache(key=lambda n: n % 2 + 1, join=lambda n, found: [(n, len(found))])

    def program(env: StreamExecutionEnvironment) -> Any:
        numbers = env.from_collection([*range(6)])
        return AsyncDataStream.ordered_wait(numbers, lookup, Time.seconds(30), cache=cache)

    assert run_pipeline(program).only == [(n, n % 2 + 1) for n in range(6)]


def test_a_table_into_another_in_a_program(database: Any) -> None:
    database.execute("CREATE TABLE given (id int PRIMARY KEY, body jsonb)")
    body = json.dumps({"n": 1})
    database.execute(f"INSERT INTO given SELECT n, '{body}' FROM generate_series(1, 50) n")
    database.execute("CREATE TABLE taken (id int, n int)")

    def program(env: StreamExecutionEnvironment) -> Any:
        source = PostgresSnapshotSource(database.url, "given")
        given = env.from_source(source, WatermarkStrategy.no_watermarks(), "given")
        taken = given.map(lambda row: {"id": row.id, "n": row.body["n"]})
        taken.sink_to(PostgresSink(database.url, table="taken", columns=["id", "n"]))
        return taken

    run_pipeline(program, cuts=[9] * 4)
    assert rows(database, "taken") == [(n, 1) for n in range(1, 51)]
