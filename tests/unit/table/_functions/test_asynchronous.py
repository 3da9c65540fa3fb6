"""Asynchronous functions of rows: at once, again after an exception, and in time."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from headrace.common.configuration import Configuration
from headrace.errors import ConfigurationError, PlanError
from headrace.table import EnvironmentSettings, TableEnvironment
from headrace.table.expressions import col
from headrace.table.udf import AsyncScalarFunction, FunctionContext, udf

PREFIX = "table.exec.async-scalar."


def environment(**options: str) -> TableEnvironment:
    configuration = Configuration()
    configuration.set_string("execution.target", "local")
    for key, value in options.items():
        configuration.set_string(PREFIX + key.replace("_", "-"), value)
    settings = EnvironmentSettings.new_instance().with_configuration(configuration)
    return TableEnvironment.create(settings.build())


def answers(function: Any, count: int = 1, **options: str) -> list[Any]:
    table = environment(**options).from_elements([(n,) for n in range(count)], ["n"])
    called = udf(function, result_type="BIGINT")
    with table.select(called(col("n"))).execute().collect() as rows:
        return [row[0] for row in rows]


class Together(AsyncScalarFunction):
    """Gives for each row how many calls there were at most at once, later rows first."""

    def open(self, function_context: FunctionContext) -> None:
        self.running, self.most = 0, 0

    async def eval(self, *args: Any) -> int:
        self.running += 1
        self.most = max(self.most, self.running)
        await asyncio.sleep(0.05 / (args[0] + 1))
        self.running -= 1
        return int(args[0])


class CountedTogether(Together):
    """Gives the most calls that there were at once."""

    async def eval(self, *args: Any) -> int:
        await super().eval(*args)
        return self.most


def test_rows_keep_their_order() -> None:
    assert answers(Together(), 30) == [*range(30)]


@pytest.mark.parametrize(("options", "most"), [({}, 10), ({"max_concurrent_operations": "3"}, 3)])
def test_so_many_calls_run_at_once(options: dict[str, str], most: int) -> None:
    assert max(answers(CountedTogether(), 30, **options)) == most


class Failing(AsyncScalarFunction):
    """Fails at its first calls of a row."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.calls = 0

    async def eval(self, *args: Any) -> int:
        self.calls += 1
        if self.calls <= self.failures:
            raise ValueError(f"call {self.calls}")
        return self.calls


def test_a_call_is_made_again_after_an_exception() -> None:
    assert answers(Failing(3), retry_delay="1 ms") == [4]
    with pytest.raises(ValueError, match="call 4") as failed:
        answers(Failing(4), retry_delay="1 ms")
    assert "function: Failing(BIGINT) -> BIGINT\nvalues:   (0,)" in failed.value.__notes__
    assert answers(Failing(1), max_attempts="1", retry_delay="1 ms") == [2]
    with pytest.raises(ValueError, match="call 1"):
        answers(Failing(1), retry_strategy="NO_RETRY")


def test_a_call_that_takes_too_long_fails_the_job() -> None:
    async def never(value: int) -> int:
        await asyncio.sleep(60)
        return value

    with pytest.raises(TimeoutError, match=r"has timed out for input: \[0\]"):
        answers(never, timeout="100 ms")


def test_wrong_options_are_refused() -> None:
    async def one() -> int:
        return 1

    with pytest.raises(PlanError, match="max-concurrent-operations"):
        answers(one, max_concurrent_operations="0")
    with pytest.raises(ConfigurationError, match="retry-strategy"):
        answers(one, retry_strategy="OFTEN")


def test_it_is_called_by_name_without_arguments_and_in_conditions() -> None:
    env = environment()

    async def one() -> int:
        return 1

    async def is_odd(n: int) -> bool:
        return n % 2 == 1

    env.create_temporary_function("always_one", udf(one, result_type="INT"))
    env.create_temporary_function("is_odd", udf(is_odd, result_type="BOOLEAN"))
    env.create_temporary_view("t", env.from_elements([(n,) for n in range(4)], ["n"]))
    query = "SELECT n, always_one() FROM t WHERE is_odd(n)"
    with env.execute_sql(query).collect() as rows:
        assert [tuple(row) for row in rows] == [(1, 1), (3, 1)]
