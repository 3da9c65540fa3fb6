"""Run the corpus through Headrace, and say for each area what agrees with Flink.

    python -m tests.differential.sql.run_corpus [OPTION ...] [AREA[/CASE] ...]

``--write-open`` writes the names of those that differ into ``open.txt``, which the test
lets differ.
It ends with 1 where a case differs. What only a plan of Flink is recorded of is not run.
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
from datetime import UTC, datetime, timedelta
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

from headrace.common.configuration import Configuration
from headrace.common.time import Instant
from headrace.errors import HeadraceError
from headrace.table.environment_settings import EnvironmentSettings
from headrace.table.table_environment import TableEnvironment
from headrace.table.table_result import TableResult
from tests.differential.encoding import encode
from tests.differential.sql.cases import DATA, GOLDENS, HERE, MODES, SETTINGS, Case, areas, cases
from tests.differential.sql.compare import differences

OPEN = HERE / "open.txt"
KINDS = {"INSERT": "+I", "UPDATE_BEFORE": "-U", "UPDATE_AFTER": "+U", "DELETE": "-D"}
WRITES = re.compile(r"INSERT|EXECUTE|CREATE TABLE.*\bAS SELECT\b", re.S)


# Flink's interval of none, in Headrace's words.
OURS = {"headrace.watermark.chunk-records": "1"}


def environment(case: Case, mode: str, target: str) -> TableEnvironment:
    """A fresh environment of Headrace, with the case's settings."""
    config = Configuration()
    ours = OURS | ({} if target == "spark" else {"execution.target": target})
    for key, value in (ours | SETTINGS | case.settings).items():
        config.set_string(key, value)
    made = EnvironmentSettings.new_instance().with_configuration(config)
    made = made.in_batch_mode() if mode == "batch" else made.in_streaming_mode()
    return TableEnvironment.create(made.build())


def answer(env: TableEnvironment, case: Case, folder: Path, mode: str) -> dict[str, Any]:
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
            found = env.sql_query(last)._columns
            if mode == "streaming":  # a batch is planned when it runs
                env.explain_sql(last)
            return {"columns": [[each.name, str(each.type)] for each in found]}
        out = StringIO()
        with redirect_stdout(out):
            result = env.execute_sql(last)
            when = "run"
            if WRITES.match(last):
                result.wait()
                return {"printed": out.getvalue().splitlines()}
        with result.collect() as rows:
            given = [
                [KINDS[row.get_row_kind().name], *(encode(as_instant(cell)) for cell in row)]
                for row in rows
            ]
        return {"columns": columns(result), "rows": given}
    except HeadraceError as error:
        return {"refused": {"when": when, "causes": [[type(error).__name__, first_line(error)]]}}


def as_instant(cell: Any) -> Any:
    """A moment as the Instant it is in the goldens: PyFlink cannot collect one, so any will do."""
    if isinstance(cell, datetime) and cell.tzinfo is not None:
        micros = (cell - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
        return Instant(micros // 1_000_000, micros % 1_000_000 * 1000)
    return cell


def first_line(error: Exception) -> str:
    """What an error says first."""
    return (str(error).splitlines() or [""])[0]


def columns(result: TableResult) -> list[list[str]]:
    """Names and types, as Flink writes them; a job's schema is no part of PyFlink's interface."""
    return [[column.name, str(column.type)] for column in result._columns]


def check(case: Case, mode: str, target: str) -> list[str]:
    """What differs from Flink in this case."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            given = answer(environment(case, mode, target), case, Path(folder), mode)
        except Exception as error:  # no refusal: a mistake of ours, told with the others
            return [f"broken by {type(error).__name__}: {first_line(error)}"]
    return differences(goldens(case.area)[case.name, mode], given, case.order(mode))


@cache
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
            for each in case.modes:
                runs = goldens(area)[case.name, each].keys() & {"columns", "refused", "printed"}
                if runs and mode in (None, each):
                    yield case, each


def name_of(case: Case, mode: str) -> str:
    """What a case is called in ``open.txt``."""
    return f"{case.area}/{case.name} {mode}"


def open_cases() -> set[str]:
    """The names of the cases that still differ."""
    return set(OPEN.read_text(encoding="utf-8").splitlines())


def main() -> int:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--mode", choices=MODES)
    parser.add_argument("--target", choices=("local", "spark"), default="local")
    parser.add_argument("--write-open", action="store_true")
    parser.add_argument("--quiet", action="store_true", help="only the numbers")
    chosen = parser.parse_args()
    right: Counter[str] = Counter()
    all_of: Counter[str] = Counter()
    differ = []
    for case, mode in chosen_cases(chosen.names, chosen.mode):
        found = check(case, mode, chosen.target)
        all_of[case.area] += 1
        right[case.area] += not found
        if found:
            differ.append(name_of(case, mode))
            if not chosen.quiet:
                print(f"{differ[-1]}: {'; '.join(found)}")
    if chosen.write_open and not (chosen.names or chosen.mode):
        OPEN.write_text("\n".join(differ) + "\n", encoding="utf-8")
    for area, count in all_of.items():
        print(f"{area}: {right[area]} of {count}")
    return 0 if right == all_of else 1


if __name__ == "__main__":
    sys.exit(main())
