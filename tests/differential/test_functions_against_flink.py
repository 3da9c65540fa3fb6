"""Programs with Python functions in tables, against what PyFlink answered to them.

The programs are ``functions/programs.py``, with the first word of their imports changed; PyFlink
itself is not needed here. Rows are compared in any order: those of a program may come in any.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from headrace.common import Configuration
from headrace.table import EnvironmentSettings, TableEnvironment
from tests.differential.functions.cases import answer, goldens, programs

pytestmark = pytest.mark.differential

PROGRAMS = dict(programs("headrace"))
GOLDENS = goldens()

# Programs whose golden Headrace means to differ from, each with its reason; the marks are strict.
DEVIATIONS = {
    "naive_for_timestamp_ltz": "PyFlink cannot collect a TIMESTAMP_LTZ",
    "null_in_array": "PyFlink cannot collect an array with NULL",
    "dict_for_map": "PyFlink cannot collect a map with NULL",
    "tuple_for_row": "a tuple may be a row, as in table functions",
    "dict_for_row": "a dict may be a row",
    "an_asynchronous_function": "Flink gives rows that are called together the last one's values",
    "table_function_gives_none": "Flink names the column of a table that it knows to be empty",
}


# PyFlink's aggregate functions give a key's last change of a bundle; Headrace gives each change.
FOLDED = (
    "aggregate_of_a_call",
    "aggregate_of_rows",
    "aggregate_with_views",
    "aggregates_without_names",
    "an_aggregate_function",
    "an_aggregate_function_in_sql",
    "distinct_arguments",
    "entries_removed_while_a_map_is_read",
    "flat_aggregate",
    "flat_aggregate_of_all_rows",
)


def rows(name: str, given: list[list[str]]) -> list[list[str]]:
    """The rows of an answer, in an order; of aggregates those that are left in the end."""
    if name not in FOLDED:
        return sorted(given)
    left: Counter[tuple[str, ...]] = Counter()
    for kind, *values in given:
        left[tuple(values)] += 1 if kind in ("INSERT", "UPDATE_AFTER") else -1
    return sorted([*values] for values in left.elements())


def environment() -> TableEnvironment:
    config = Configuration()
    config.set_string("execution.target", "local")
    config.set_string("parallelism.default", "1")
    config.set_string("table.local-time-zone", "UTC")
    settings = EnvironmentSettings.new_instance().in_streaming_mode().with_configuration(config)
    return TableEnvironment.create(settings.build())


def found(name: str) -> dict[str, Any]:
    """What Headrace answers; the words of an error are its own."""
    try:
        given = answer(PROGRAMS[name], environment())
    except Exception:
        return {"error": True}
    return {"columns": given["columns"], "rows": rows(name, given["rows"])}


def case(name: str) -> Any:
    reason = DEVIATIONS.get(name)
    marks = [pytest.mark.xfail(reason=reason, strict=True)] if reason else []
    return pytest.param(name, id=name, marks=marks)


@pytest.mark.parametrize("name", map(case, PROGRAMS))
def test_a_program(name: str) -> None:
    golden = GOLDENS[name]
    if "error" in golden:
        assert found(name) == {"error": True}
    else:
        assert found(name) == {
            "columns": golden["columns"],
            "rows": rows(name, golden["rows"]),
        }
