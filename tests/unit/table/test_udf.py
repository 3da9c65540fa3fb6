"""Functions of users in tables; their values by PyFlink are in ``tests/differential/functions``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd
import pytest

from headrace.common.configuration import Configuration
from headrace.errors import CatalogError, SqlValidationError, TypeMismatchError, UnsupportedError
from headrace.table import DataTypes, EnvironmentSettings, Row, Table, TableEnvironment
from headrace.table.expressions import call, col, lit, with_columns
from headrace.table.udf import (
    AsyncScalarFunction,
    FunctionContext,
    ScalarFunction,
    TableFunction,
    udf,
    udtf,
)

HERE = "tests.unit.table.functions_of_users"


@pytest.fixture
def t_env() -> TableEnvironment:
    configuration = Configuration()
    configuration.set_string("execution.target", "local")
    configuration.set_string("pipeline.global-job-parameters", "factor:7")
    settings = EnvironmentSettings.new_instance().with_configuration(configuration).build()
    return TableEnvironment.create(settings)


@pytest.fixture
def table(t_env: TableEnvironment) -> Table:
    made = t_env.from_elements([(1, "Hi"), (2, "Hello"), (3, None)], ["a", "s"])
    t_env.create_temporary_view("t", made)
    return made


def rows(table: Any) -> list[Any]:
    result = table.execute() if isinstance(table, Table) else table
    with result.collect() as found:
        return [tuple(row._values) for row in found]


def column(table: Table) -> list[Any]:
    return [value for (value,) in rows(table)]


# What may be a function


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: udf(ScalarFunction, result_type="INT"), "Invalid function"),
        (lambda: udf(5, result_type="INT"), "Invalid function"),
        (lambda: udf(len, result_type=int), "Invalid returnType"),
        (lambda: udf(len), "Invalid returnType"),
        (lambda: udf(len, input_types=[str], result_type="INT"), "Invalid input_type"),
        (lambda: udtf(len, result_types=[int]), "Invalid result_type"),
        (lambda: udtf(len), "result types"),
        (lambda: call(len, col("a")), "what udf"),
    ],
)
def test_what_is_no_function_is_refused(make: Callable[[], Any], problem: str) -> None:
    with pytest.raises(TypeError, match=problem):
        make()


def test_what_contradicts_itself_is_refused() -> None:
    class One(ScalarFunction):
        def eval(self) -> int:
            return 1

    with pytest.raises(ValueError, match="Inconsistent deterministic: False and True"):
        udf(One(), result_type="INT", deterministic=False)
    with pytest.raises(ValueError, match="must be one of 'general, pandas', got arrow"):
        udf(len, result_type="INT", func_type="arrow")


def test_asynchronous_functions_are_not_vectorised() -> None:
    async def later(value: int) -> int:
        return value

    class Later(AsyncScalarFunction):
        async def eval(self, *args: Any) -> int:
            return len(args)

    for made in (later, Later()):
        with pytest.raises(ValueError, match="Async scalar functions do not support pandas"):
            udf(made, result_type="INT", func_type="pandas")


def test_process_table_functions_are_refused(t_env: TableEnvironment, table: Table) -> None:
    from headrace.table import udf as functions

    for refused in (
        functions.udptf,
        functions.ProcessTableFunction,
        functions.table_arg,
        functions.value_state,
        table.process,
        table.partition_by,
        table.as_argument,
        t_env.from_call,
    ):
        with pytest.raises(UnsupportedError, match="process table functions are not supported"):
            refused("memory")


# In a task


class Counted(ScalarFunction):
    """Counts what happens to it; class attributes are not copied with an object."""

    opened: list[FunctionContext] = []  # noqa: RUF012
    closed = 0

    def __init__(self) -> None:
        self.factor = 0

    def open(self, function_context: FunctionContext) -> None:
        self.opened.append(function_context)
        self.factor = int(function_context.get_job_parameter("factor", "1"))
        function_context.get_metric_group().counter("calls")

    def eval(self, value: int) -> int:
        return value * self.factor

    def close(self) -> None:
        type(self).closed += 1


def test_a_function_is_opened_and_closed_once_in_a_task(table: Table) -> None:
    function = Counted()
    scaled = udf(function, result_type=DataTypes.BIGINT())
    found = table.select(scaled(col("a")), scaled(col("a") + 1), scaled(scaled(col("a"))))
    assert rows(found) == [(7, 14, 49), (14, 21, 98), (21, 28, 147)]
    assert (len(Counted.opened), Counted.closed) == (1, 1)
    (context,) = Counted.opened
    assert context.get_number_of_parallel_subtasks() == 1
    assert context.get_index_of_this_subtask() == context.get_attempt_number() == 0
    assert context.get_task_name_with_subtasks() == f"{context.get_task_name()} (1/1)"
    assert function.factor == 0  # the task has its own copy


def test_equal_calls_are_one_where_the_function_is_deterministic(table: Table) -> None:
    calls: list[int] = []
    once = udf(lambda a: calls.append(a) or a, result_type="BIGINT")
    again = udf(lambda a: calls.append(a) or a, result_type="BIGINT", deterministic=False)
    assert column(table.select(once(col("a")) + once(col("a")))) == [2, 4, 6]
    assert len(calls) == 3
    calls.clear()
    assert column(table.select(again(col("a")) + again(col("a")))) == [2, 4, 6]
    assert len(calls) == 6


def test_a_function_without_arguments_is_called_for_each_row(table: Table) -> None:
    numbers = iter(range(10))
    assert column(table.select(udf(lambda: next(numbers), result_type="INT")())) == [0, 1, 2]


def test_a_function_is_called_only_where_its_value_counts(
    t_env: TableEnvironment, table: Table
) -> None:
    t_env.create_temporary_function("inverse", udf(lambda a: 6 // (a - 2), result_type="BIGINT"))
    found = t_env.sql_query("SELECT CASE WHEN a <> 2 THEN inverse(a) END AS x FROM t")
    assert column(found) == [-6, None, 6]
    assert column(t_env.sql_query("SELECT a FROM t WHERE a <> 2 AND inverse(a) > 0")) == [3]


# Errors


def test_an_error_names_the_function_and_the_arguments(table: Table) -> None:
    inverse = udf(lambda a, s: 6 // (a - 2), result_type="BIGINT", name="inverse")
    with pytest.raises(ZeroDivisionError) as caught:
        rows(table.select(inverse(col("a"), col("s"))))
    notes = "\n".join(caught.value.__notes__)
    assert "function: inverse(BIGINT, STRING) -> BIGINT\nvalues:   (2, 'Hello')" in notes
    assert "operator: Calc" in notes


def test_a_wrong_result_names_the_function_and_the_arguments(table: Table) -> None:
    name = udf(lambda a: "two" if a == 2 else a, result_type="BIGINT", name="numbered")
    with pytest.raises(TypeMismatchError, match=r"numbered gave 'two' \(str\)") as caught:
        rows(table.select(name(col("a"))))
    assert caught.value.where["function"] == "numbered(BIGINT) -> BIGINT"
    assert caught.value.where["values"] == "(2,)"


def test_stop_iteration_does_not_end_the_rows(table: Table) -> None:
    def stop(a: int) -> int:
        if a == 2:
            raise StopIteration
        return a

    with pytest.raises(RuntimeError, match="stop raised StopIteration") as caught:
        rows(table.select(udf(stop, result_type="BIGINT")(col("a"))))
    assert "values:   (2,)" in "\n".join(caught.value.__notes__)


@pytest.mark.capability("SQL and Table API: Python functions, also over pandas", runners="local")
@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (lambda s: s[:1], "gave a Series of 1 values for 3 rows"),
        (lambda s: 5, "gave a int: 5, and no Series"),
        (lambda s: [*s], "gave a list"),
        (lambda s: s.astype(str) + "x", "gave values that are no BIGINT"),
        (lambda s: pd.DataFrame({"a": s, "b": s}), "a DataFrame with 2 columns"),
    ],
)
def test_a_vectorised_function_gives_a_series_of_its_type(
    table: Table, function: Any, problem: str
) -> None:
    vectorised = udf(function, result_type="BIGINT", func_type="pandas", name="f")
    with pytest.raises(TypeMismatchError, match=f"the function f .*{problem}"):
        rows(table.select(vectorised(col("a"))))


def test_a_table_function_gives_rows_of_its_types(table: Table) -> None:
    two = udtf(lambda a: [(a, a)] if a < 3 else [(a,)], result_types=["BIGINT", "BIGINT"], name="f")
    with pytest.raises(TypeMismatchError, match=r"f gave \(3,\), and its rows have 2") as caught:
        rows(table.flat_map(two(col("a"))))
    assert caught.value.where["values"] == "(3,)"
    text = udtf(lambda a: [a, "x"], result_types=["BIGINT"], name="f")
    with pytest.raises(TypeMismatchError, match=r"f gave 'x' \(str\)"):
        rows(table.flat_map(text(col("a"))))


def test_an_error_of_a_table_function_names_its_arguments(table: Table) -> None:
    def count(a: int) -> Iterator[int]:
        yield a
        yield 6 // (a - 2)

    with pytest.raises(ZeroDivisionError) as caught:
        rows(table.flat_map(udtf(count, result_types="BIGINT")(col("a"))))
    assert "values:   (2,)" in "\n".join(caught.value.__notes__)


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("SELECT letters(s) FROM t", "the table function letters is not allowed here"),
        ("SELECT * FROM t, LATERAL TABLE(twice(a)) AS l(x)", "twice is not a table function"),
        ("SELECT * FROM t, LATERAL TABLE(UPPER(s)) AS l(x)", "UPPER is not a table function"),
        ("SELECT * FROM t, LATERAL TABLE(nope(s)) AS l(x)", "no function has the name nope"),
        ("SELECT * FROM t, LATERAL TABLE(letters(s)) AS l(x, y)", "letters gives 1 columns, not 2"),
        ("SELECT other.twice(a) FROM t", "no function has the name other.twice"),
    ],
)
def test_what_means_nothing_is_refused(
    t_env: TableEnvironment, table: Table, query: str, problem: str
) -> None:
    for name in ("twice", "letters"):
        t_env.execute_sql(f"CREATE FUNCTION {name} AS '{HERE}.{name}' LANGUAGE PYTHON")
    with pytest.raises((SqlValidationError, UnsupportedError), match=problem):
        t_env.sql_query(query)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM (VALUES (twice(1))) AS v(x)",
        "SELECT * FROM t LEFT JOIN LATERAL TABLE(letters(s)) AS l(x) ON x = 'H'",
    ],
)
def test_what_is_not_supported_is_refused(
    t_env: TableEnvironment, table: Table, query: str
) -> None:
    for name in ("twice", "letters"):
        t_env.execute_sql(f"CREATE FUNCTION {name} AS '{HERE}.{name}' LANGUAGE PYTHON")
    with pytest.raises(UnsupportedError):
        t_env.sql_query(query)


def test_what_is_not_deterministic_is_refused_over_rows_that_change(
    t_env: TableEnvironment, table: Table
) -> None:
    again = udf(lambda n: n, result_type="BIGINT", deterministic=False, name="again")
    t_env.create_temporary_function("again", again)
    with pytest.raises(UnsupportedError, match=r"again.* over rows that change"):
        t_env.execute_sql("SELECT again(n) FROM (SELECT COUNT(*) AS n FROM t GROUP BY a)")


# Names


def test_functions_of_modules_are_created_changed_and_dropped(
    t_env: TableEnvironment, table: Table
) -> None:
    t_env.execute_sql(f"CREATE FUNCTION f AS '{HERE}.twice' LANGUAGE PYTHON")
    t_env.execute_sql(f"CREATE TEMPORARY SYSTEM FUNCTION g AS '{HERE}.twice' LANGUAGE PYTHON")
    assert column(t_env.sql_query("SELECT f(a) + G(a) FROM t")) == [4, 8, 12]
    t_env.execute_sql(f"ALTER FUNCTION f AS '{HERE}.thrice' LANGUAGE PYTHON")
    assert column(t_env.sql_query("SELECT f(a) FROM t")) == [3, 6, 9]
    assert rows(t_env.execute_sql("SHOW USER FUNCTIONS")) == [("f",), ("g",)]
    described = dict(rows(t_env.execute_sql("DESCRIBE FUNCTION f")))
    assert described == {
        "is system function": "false",
        "is temporary": "false",
        "class name": f"{HERE}.thrice",
        "function language": "PYTHON",
    }
    described = dict(rows(t_env.execute_sql("DESCRIBE FUNCTION g")))
    assert (described["is system function"], described["is temporary"]) == ("true", "true")
    t_env.execute_sql("DROP FUNCTION f")
    with pytest.raises(SqlValidationError, match="no function has the name f"):
        t_env.sql_query("SELECT f(a) FROM t")
    with pytest.raises(CatalogError):
        t_env.execute_sql("DROP FUNCTION f")


@pytest.mark.parametrize(
    ("identifier", "problem"),
    [
        ("nowhere.f", "'nowhere.f' cannot be imported"),
        (f"{HERE}.nothing", "has no function 'nothing'"),
        ("f", "'f' cannot be imported"),
        (f"{HERE}.no_function", "is a int, and not what udf"),
    ],
)
def test_an_identifier_that_names_no_function_is_refused(
    t_env: TableEnvironment, table: Table, identifier: str, problem: str
) -> None:
    t_env.execute_sql(f"CREATE FUNCTION f AS '{identifier}' LANGUAGE PYTHON")
    with pytest.raises(SqlValidationError, match=problem):
        t_env.sql_query("SELECT f(a) FROM t")


def test_functions_of_java_and_of_aggregates_names_are_refused(t_env: TableEnvironment) -> None:
    with pytest.raises(UnsupportedError, match="there is no JVM"):
        t_env.create_java_temporary_function("f", "org.example.F")
    with pytest.raises(UnsupportedError, match="aggregate function SUM"):
        t_env.create_temporary_system_function("sum", udf(len, result_type="INT"))
    with pytest.raises(TypeError, match="what udf"):
        t_env.create_temporary_function("f", len)  # type: ignore[arg-type]


def test_functions_are_listed(t_env: TableEnvironment) -> None:
    t_env.create_temporary_function("mark", udf(repr, result_type="STRING"))
    assert t_env.list_user_defined_functions() == ["mark"]
    assert {"mark", "UPPER"} <= set(t_env.list_functions())
    assert t_env.drop_temporary_function("mark")
    assert not t_env.drop_temporary_function("mark")


# Plans


def test_a_plan_names_functions(table: Table) -> None:
    double = udf(lambda a: a, result_type="BIGINT", name="double_it")
    spread = udtf(lambda a: [a], result_types="BIGINT", name="spread")
    made = table.left_outer_join_lateral(spread(double(col("a"))).alias("x"))
    assert "Correlate(call=[spread(double_it(`a`))], outer)" in made.explain()


def test_functions_of_whole_rows(table: Table) -> None:
    swapped = udf(lambda row: Row(row.s, row[0]), result_type="ROW<x STRING, y BIGINT>")
    assert rows(table.map(swapped)) == [("Hi", 1), ("Hello", 2), (None, 3)]
    assert table.map(swapped).get_schema().get_field_names() == ["x", "y"]
    letters = udtf(lambda row: [*(row.s or "")], result_types="STRING")
    joined = table.join_lateral(letters.alias("l"), col("l") != "l").select(col("a"), col("l"))
    assert rows(joined) == [(1, "H"), (1, "i"), (2, "H"), (2, "e"), (2, "o")]
    total = udf(lambda frame: frame.a * 2, result_type="BIGINT", func_type="pandas")
    assert column(table.map(total)) == [2, 4, 6]


def test_columns_in_place_of_a_star(table: Table) -> None:
    joined = udf(lambda *values: "|".join(map(str, values)), result_type="STRING")
    found = table.select(joined(with_columns(col("*")), lit(1)))
    assert column(found) == ["1|Hi|1", "2|Hello|1", "3|None|1"]


def test_a_table_function_of_constants(t_env: TableEnvironment) -> None:
    class UpTo(TableFunction):
        def eval(self, end: int) -> range:
            return range(end)

    t_env.create_temporary_function("up_to", udtf(UpTo(), result_types="BIGINT"))
    assert column(t_env.sql_query("SELECT * FROM TABLE(up_to(3))")) == [0, 1, 2]
    assert column(t_env.sql_query("SELECT n FROM LATERAL TABLE(up_to(2)) AS u(n)")) == [0, 1]


def test_a_row_inside_a_row_becomes_columns_of_a_frame(t_env: TableEnvironment) -> None:
    kind = DataTypes.ROW(
        [
            DataTypes.FIELD("a", DataTypes.INT()),
            DataTypes.FIELD("b", DataTypes.ROW([DataTypes.FIELD("c", DataTypes.INT())])),
        ]
    )
    table = t_env.from_elements([(1, Row(2)), (2, Row(3))], kind)
    total = udf(lambda frame: frame.a + frame.c, result_type="INT", func_type="pandas")
    assert column(table.map(total)) == [3, 5]
