"""``headrace state``: keys as they are typed, and what Spark refuses."""

from __future__ import annotations

from typing import Any

import pytest
from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException, PythonException

from headrace.cli.state import _errors_of_spark, _keys_of
from headrace.errors import JobError


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("AAPL", ["AAPL"]),
        ('"1"', ["1"]),
        ("1", [1]),
        ("true", [True]),
        ('[1, ["a", null]]', [(1, ("a", None)), [1, ["a", None]]]),
        ("[1", ["[1"]),
    ],
)
def test_a_key_is_json_or_a_text(text: str, keys: list[Any]) -> None:
    found = _keys_of(text)
    assert found == keys and [*map(type, found)] == [*map(type, keys)]


def test_what_spark_refuses_is_one_line() -> None:
    text = "[PATH_ALREADY_EXISTS] Path file:/totals already exists.\n\tat org.apache.spark.Some(1)"
    with pytest.raises(JobError) as refused, _errors_of_spark():
        raise AnalysisException(text)
    assert str(refused.value) == text.splitlines()[0]


def test_an_error_of_a_task_is_its_last_line() -> None:
    text = (
        "An exception was thrown from the Python worker:\nTraceback (most recent call last):\n"
        '  File "columns.py", line 1, in read\n    raise error\n'
        "headrace.errors.TypeMismatchError: a value does not fit the column 'key' (int64): 1.5\n"
    )
    message = r"does not fit the column 'key' \(int64\): 1\.5"
    with pytest.raises(JobError, match=message) as failed, _errors_of_spark():
        raise PythonException(text)
    assert "--as-text" in str(failed.value.hint)
    assert "columns.py" not in str(failed.value)


def test_an_error_of_java_is_its_reason() -> None:
    text = "An error occurred while calling o1.\n: java.Some: no such format\n\tat java.Some(1)"
    with pytest.raises(JobError) as refused, _errors_of_spark():
        raise Py4JError(text)
    assert str(refused.value) == "java.Some: no such format"
