from __future__ import annotations

import pyarrow as pa
import pytest

from headrace.errors import SqlError
from headrace.sql.evaluate import compile_expressions, may_fail
from headrace.sql.functions.function import Session
from headrace.sql.functions.patterns import java_regex
from headrace.sql.types import STRING
from tests.unit.sql.reading import expression

pytest.importorskip("sqlglot")

TYPES = {"s": STRING, "p": STRING}


@pytest.mark.parametrize("pattern", [r"\p{L}", r"\x{41}", r"(?<a>x)\k<a>", r"\Ra", r"\\\Q.\E"])
def test_what_only_java_knows_is_refused(pattern: str) -> None:
    with pytest.raises(SqlError, match="escape of Java"):
        java_regex(pattern)


@pytest.mark.parametrize("pattern", ["(", r"\\p(", "[", "a**"])
def test_what_is_no_pattern_matches_nothing(pattern: str) -> None:
    assert java_regex(pattern) is None


@pytest.mark.parametrize(
    ("call", "pattern"),
    [
        ("REGEXP(s, p)", r"\p{L}"),
        ("s LIKE 'a' ESCAPE p", "a"),
        ("s SIMILAR TO p", "("),
        ("CHAR_LENGTH(DECODE(ENCODE(s, p), p)) = 1", "UTF-9"),
        ("CARDINALITY(STR_TO_MAP(s, p)) = 1", "("),
    ],
)
def test_a_pattern_that_is_refused_is_not_read_where_it_is_not_needed(
    call: str, pattern: str
) -> None:
    made = expression(f"CASE WHEN s = 'a' THEN {call} ELSE FALSE END", TYPES)
    batch = pa.RecordBatch.from_pydict({"s": ["b", None], "p": [pattern, pattern]})
    evaluate = compile_expressions([made], batch.schema)
    assert evaluate(batch, Session())[0].to_pylist() == [False, False]
    with pytest.raises(SqlError):
        evaluate(pa.RecordBatch.from_pydict({"s": ["a"], "p": [pattern]}), Session())


def test_a_constant_pattern_does_not_fail_row_by_row() -> None:
    assert not may_fail(expression("REGEXP(s, 'a') AND s LIKE 'b%'", TYPES))
