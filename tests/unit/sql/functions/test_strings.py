from __future__ import annotations

import pyarrow as pa
import pytest

from headrace.sql.evaluate import compile_expressions
from headrace.sql.functions.function import Session
from headrace.sql.types import STRING
from tests.unit.sql.reading import expression

pytest.importorskip("sqlglot")


@pytest.mark.parametrize(
    ("call", "texts", "expected"),
    [
        ("UPPER", ["straße", None, "ﬁx", "a"], ["STRASSE", None, "FIX", "A"]),
        ("LOWER", ["\u0130", "ΔΣ", "ΣΔ", "A", None], ["i\u0307", "δς", "σδ", "a", None]),
        ("UPPER", ["ab", None], ["AB", None]),
        ("LOWER", [None, None], [None, None]),
    ],
)
def test_one_letter_may_become_several(
    call: str, texts: list[str | None], expected: list[str | None]
) -> None:
    batch = pa.RecordBatch.from_pydict({"x": pa.array(texts, pa.string())})
    made = expression(f"{call}(x)", {"x": STRING})
    (found,) = compile_expressions([made], batch.schema)(batch, Session())
    assert found.to_pylist() == expected
