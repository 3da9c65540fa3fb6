"""The programs with Python functions: how they are found, run, and written down.

Neither PyFlink nor Headrace is imported here: the recorder and the test both stand on this module.
"""

from __future__ import annotations

import json
import re
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE / "programs.py"
GOLDENS = HERE / "goldens.json"
_IMPORTED = re.compile(r"^(\s*from )pyflink\b", re.MULTILINE)
_NO_PROGRAMS = ("view", "shown", "row_type", "data_type")


def programs(package: str) -> Iterator[tuple[str, Callable[[Any], Any]]]:
    """Return the programs by name, with ``package`` as the first word of their imports."""
    module = types.ModuleType("programs_with_functions")
    text = PROGRAMS.read_text("utf-8")
    exec(compile(_IMPORTED.sub(rf"\g<1>{package}", text), PROGRAMS, "exec"), vars(module))
    for name, found in vars(module).items():
        made_here = isinstance(found, types.FunctionType) and found.__module__ == module.__name__
        if made_here and not name.startswith("_") and name not in _NO_PROGRAMS:
            yield name, found


def answer(program: Callable[[Any], Any], t_env: Any) -> dict[str, Any]:
    """Run a program; return the names and types of its columns, and its rows with their kinds."""
    made = program(t_env)
    result = made.execute() if hasattr(made, "execute") else made
    schema = result.get_table_schema()
    names, kinds = schema.get_field_names(), schema.get_field_data_types()
    with result.collect() as rows:
        found = [[row.get_row_kind().name, *map(_shown, row._values)] for row in rows]
    return {"columns": [[n, repr(k)] for n, k in zip(names, kinds, strict=True)], "rows": found}


def _shown(value: Any) -> str:
    """The text of a value; PyFlink collects bytes as a bytearray, or as bytes."""
    return repr(bytes(value) if isinstance(value, bytearray) else value)


def goldens() -> dict[str, dict[str, Any]]:
    """Return what PyFlink answered, by program."""
    found: dict[str, dict[str, Any]] = json.loads(GOLDENS.read_text("utf-8"))
    return found
