"""Run the corpus through Headrace, and say for each area what agrees with Flink::

    python -m tests.differential.sql.run_corpus [--mode MODE] [--quiet] [AREA[/CASE] ...]

It ends with 1 where a case differs.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

from tests.differential.encoding import encode
from tests.differential.sql.cases import DATA, GOLDENS, MODES, SETTINGS, Case, areas, cases
from tests.differential.sql.compare import differences

KINDS = {"INSERT": "+I", "UPDATE_BEFORE": "-U", "UPDATE_AFTER": "+U", "DELETE": "-D"}
WRITES = re.compile(r"INSERT|EXECUTE|CREATE TABLE.*\bAS SELECT\b", re.S)


def environment(case: Case, mode: str) -> Any:
    """A fresh environment of Headrace, with the case's settings."""
    from headrace.table import EnvironmentSettings, TableEnvironment

    made = {
        "streaming": EnvironmentSettings.in_streaming_mode,
        "batch": EnvironmentSettings.in_batch_mode,
    }
    env = TableEnvironment.create(made[mode]())
    for key, value in (SETTINGS | case.settings).items():
        env.get_config().set(key, value)
    return env


def answer(env: Any, case: Case, folder: Path) -> dict[str, Any]:
    """What Headrace says to the case, as the recorder writes Flink's answers."""
    *before, last = case.script(DATA, folder)
    when = "before"
    try:
        for statement in before:
            result = env.execute_sql(statement)
            if WRITES.match(statement):
                result.wait()
        when = "plan"
        if case.show == "schema":
            return {"columns": columns(env.sql_query(last).get_schema())}
        out = StringIO()
        with redirect_stdout(out):
            result = env.execute_sql(last)
            when = "run"
            if WRITES.match(last):
                result.wait()
                return {"printed": out.getvalue().splitlines()}
        with result.collect() as rows:
            found = [
                [KINDS[row.get_row_kind().name], *(encode(cell) for cell in row)] for row in rows
            ]
        return {"columns": columns(result.get_table_schema()), "rows": found}
    except Exception as error:  # refused, or broken: the comparison shows what it says
        first = (str(error).splitlines() or [""])[0]
        return {"refused": {"when": when, "causes": [[type(error).__name__, first]]}}


def columns(schema: Any) -> list[list[str]]:
    """Names and types, as Flink writes them."""
    names, types = schema.get_field_names(), schema.get_field_data_types()
    return [[name, str(each)] for name, each in zip(names, types, strict=True)]


def check(case: Case, mode: str) -> list[str]:
    """What differs from Flink in this case."""
    with tempfile.TemporaryDirectory() as folder:
        given = answer(environment(case, mode), case, Path(folder))
    recorded = goldens(case.area)[case.name, mode]
    if "plan" in recorded and "rows" not in recorded and "columns" not in recorded:
        return []  # a plan is for reading
    return differences(recorded, given, case.order(mode))


def goldens(area: str) -> dict[tuple[str, str], dict[str, Any]]:
    """What Flink answered in this area."""
    found = json.loads((GOLDENS / f"{area}.json").read_text(encoding="utf-8"))
    return {(each["case"], each["mode"]): each for each in found}


def chosen_cases(names: list[str], mode: str | None) -> Iterator[tuple[Case, str]]:
    """The cases asked for, in each of their modes."""
    for area in areas():
        for case in cases(area):
            if names and not any(f"{area}/{case.name}".startswith(name) for name in names):
                continue
            yield from ((case, each) for each in case.modes if mode in (None, each))


def main() -> int:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--mode", choices=MODES)
    parser.add_argument("--quiet", action="store_true", help="only the numbers")
    chosen = parser.parse_args()
    right: Counter[str] = Counter()
    all_of: Counter[str] = Counter()
    for case, mode in chosen_cases(chosen.names, chosen.mode):
        found = check(case, mode)
        all_of[case.area] += 1
        right[case.area] += not found
        if found and not chosen.quiet:
            print(f"{case.area}/{case.name} {mode}: {'; '.join(found)}")
    for area, count in all_of.items():
        print(f"{area}: {right[area]} of {count}")
    return 0 if right == all_of else 1


if __name__ == "__main__":
    sys.exit(main())
