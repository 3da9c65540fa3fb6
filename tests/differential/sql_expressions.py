"""Record what Flink SQL answers to expressions: their types, values and refusals.

Run it with the environment of the PyFlink benchmark, from the root of the repository:

    PATH=$PWD/.venv-bench/pyflink/bin:$PATH PYTHONPATH=src:. \
        .venv-bench/pyflink/bin/python -m tests.differential.sql_expressions [--all]

Without ``--all`` only expressions that have no record are asked.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.differential.sql_corpus import COLUMNS, EXPRESSIONS, GENERATED, ROWS, TIME_ZONE, TYPES

GOLDENS = Path(__file__).with_name("goldens_sql") / "expressions.jsonl"
AT_ONCE = 60


def wanted() -> list[str]:
    """The expressions of the corpus and the examples of the table of functions."""
    from headrace.sql.functions.table import FUNCTIONS

    examples = [text for each in FUNCTIONS.values() for text, _ in each.examples]
    return list(dict.fromkeys([*COLUMNS, *EXPRESSIONS, *examples, *GENERATED]))


def read() -> dict[str, dict[str, Any]]:
    """The records by expression."""
    if not GOLDENS.exists():
        return {}
    lines = GOLDENS.read_text(encoding="utf-8").splitlines()
    return {each["sql"]: each for each in map(json.loads, lines)}


def view() -> str:
    rows = ", ".join(f"({', '.join(row)})" for row in ROWS)
    return f"SELECT * FROM (VALUES {rows}) AS v({', '.join(COLUMNS)})"


class Flink:
    """A table environment in batch mode with the view ``t``."""

    def __init__(self) -> None:
        from pyflink.table import EnvironmentSettings, TableEnvironment

        self._tables = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
        config = self._tables.get_config()
        config.set("parallelism.default", "1")
        config.set("table.local-time-zone", TIME_ZONE)
        # A view of VALUES would not do: the planner computes on the constants by itself, and
        # differently (a FLOAT is a decimal there).
        path = tempfile.mkdtemp()
        columns = ", ".join(f"{name} {kind}" for name, kind in TYPES.items())
        self._tables.execute_sql(
            f"CREATE TEMPORARY TABLE t ({columns}) WITH ('connector' = 'filesystem',"
            f" 'path' = 'file://{path}', 'format' = 'json',"
            " 'json.encode.decimal-as-plain-number' = 'true')"
        )
        self._tables.execute_sql(f"INSERT INTO t {view()}").wait()

    def type_of(self, text: str) -> str:
        """The type of an expression; raises if it is refused."""
        table = self._tables.sql_query(f"SELECT {text} AS v FROM t")
        kind = table._j_table.getResolvedSchema().getColumnDataTypes().get(0).getLogicalType()
        return str(kind.asSummaryString())

    def values(self, texts: list[str]) -> list[list[Any]]:
        """The values of expressions, each for all rows; raises if one fails."""
        columns = ", ".join(f"{text} AS v{n}" for n, text in enumerate(texts))
        table = self._tables.sql_query(f"SELECT id, {columns} FROM t")
        found = table._j_table.execute().collect()
        rows = []
        while found.hasNext():
            row = found.next()
            rows.append([as_json(row.getField(n)) for n in range(row.getArity())])
        rows.sort(key=lambda row: row[0])
        return [[row[n + 1] for row in rows] for n in range(len(texts))]


def as_json(value: Any) -> Any:
    """A value as JSON; what JSON has not is text as Java prints it."""
    from decimal import Decimal

    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return repr(value)
        case Decimal():
            return format(value, "f")
        case bytes() | bytearray():
            return bytes(value).hex()
    name = value.getClass().getName()
    match name:
        case "java.time.Duration":
            return value.toMillis()
        case "java.time.Period":
            return value.toTotalMonths()
        case "org.apache.flink.types.Row":
            return [as_json(value.getField(n)) for n in range(value.getArity())]
    if name.startswith("["):
        return [as_json(each) for each in value]
    if type(value).__name__ == "JavaMap":
        pairs = [[as_json(key), as_json(each)] for key, each in value.items()]
        return sorted(pairs, key=repr)
    return str(value.toString())


def reason(error: Exception) -> str:
    """The innermost message of a Java exception."""
    lines = [line for line in str(error).splitlines() if "Caused by" in line or "Exception" in line]
    return (lines[-1] if lines else str(error)).strip()[:300]


def record(flink: Flink, texts: list[str]) -> list[dict[str, Any]]:
    answers: dict[str, dict[str, Any]] = {}
    accepted = []
    for text in texts:
        try:
            answers[text] = {"sql": text, "type": flink.type_of(text)}
            accepted.append(text)
        except Exception as error:
            answers[text] = {"sql": text, "refused": reason(error)}
    add_values(flink, accepted, answers)
    return [answers[text] for text in texts]


def add_values(flink: Flink, texts: list[str], answers: dict[str, dict[str, Any]]) -> None:
    if not texts:
        return
    try:
        found = flink.values(texts)
    except Exception as error:
        if len(texts) == 1:
            answers[texts[0]]["failed"] = reason(error)
            return
        half = len(texts) // 2
        add_values(flink, texts[:half], answers)
        add_values(flink, texts[half:], answers)
        return
    for text, values in zip(texts, found, strict=True):
        if len({json.dumps(each) for each in values}) == 1:
            answers[text]["value"] = values[0]
        else:
            answers[text]["values"] = values


def main(arguments: list[str]) -> None:
    known = {} if "--all" in arguments else read()
    texts = wanted()
    if "--values" in arguments:
        known = {text: each for text, each in known.items() if "value" not in " ".join(each)}
    missing = [text for text in texts if text not in known]
    flink = Flink()
    GOLDENS.parent.mkdir(exist_ok=True)
    for start in range(0, len(missing), AT_ONCE):
        for each in record(flink, missing[start : start + AT_ONCE]):
            known[each["sql"]] = each
        kept = [json.dumps(known[text], ensure_ascii=False) for text in texts if text in known]
        GOLDENS.write_text("\n".join(kept) + "\n", encoding="utf-8")
        print(f"{start + AT_ONCE} of {len(missing)} asked, {len(kept)} recorded", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
