"""Programs of the Table API: how they are found and run, and what they show.

A program is a function of a module in ``programs/`` that gets a ``Run``, makes tables with it, and
shows what they give. Modules import ``pyflink``; ``load`` changes the first word of it. Neither
PyFlink nor Headrace is imported here: the recorder and the test both use this module.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import re
import sys
import tempfile
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.differential.encoding import canonical, encode

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE / "programs"
GOLDENS = HERE / "goldens.jsonl"

_IMPORTED = re.compile(r"^(\s*(?:from|import)\s+)pyflink\b", re.MULTILINE)
_KINDS = {"INSERT": "+I", "UPDATE_BEFORE": "-U", "UPDATE_AFTER": "+U", "DELETE": "-D"}

Program = Callable[["Run"], None]


class Run:
    """One run of a program: makes its environments, and keeps what it shows."""

    def __init__(self, package: str, options: dict[str, str], capture: Callable[..., str]) -> None:
        self._package = package
        self._options = options
        self._capture = capture
        self.shown: list[Any] = []
        self.folder = Path(tempfile.mkdtemp(prefix="tables"))

    def _module(self, name: str) -> Any:
        return importlib.import_module(f"{self._package}.{name}")

    def _settings(self, batch: bool, options: dict[str, str]) -> Any:
        configuration = self._module("common").Configuration()
        for key, value in (self._options | options).items():
            configuration.set_string(key, value)
        builder = self._module("table").EnvironmentSettings.new_instance()
        builder = builder.in_batch_mode() if batch else builder.in_streaming_mode()
        return builder.with_configuration(configuration).build()

    def streaming(self, **options: str) -> Any:
        """An environment of tables, in a stream; ``a__b`` stands for ``a.b`` in keys."""
        return self._environment(False, options)

    def batch(self, **options: str) -> Any:
        """The same in a batch."""
        return self._environment(True, options)

    def _environment(self, batch: bool, options: dict[str, str]) -> Any:
        given = {key.replace("__", "."): value for key, value in options.items()}
        return self._module("table").TableEnvironment.create(self._settings(batch, given))

    def streams(self, batch: bool = False) -> tuple[Any, Any]:
        """An environment of streams, and one of tables in it."""
        datastream = self._module("datastream")
        configuration = self._module("common").Configuration()
        for key, value in self._options.items():
            configuration.set_string(key, value)
        environment = datastream.StreamExecutionEnvironment
        env = environment.get_execution_environment(configuration)
        env.set_parallelism(1)
        if batch:
            env.set_runtime_mode(datastream.RuntimeExecutionMode.BATCH)
        tables = self._module("table")
        settings = tables.EnvironmentSettings
        mode = settings.in_batch_mode() if batch else settings.in_streaming_mode()
        return env, tables.StreamTableEnvironment.create(env, mode)

    def say(self, value: Any) -> None:
        """Show a value."""
        self.shown.append(encode(value))

    def rows(self, result: Any, *, sort: bool = False) -> None:
        """Show the rows of a result or of a table, each with its kind."""
        if hasattr(result, "get_resolved_schema") and hasattr(result, "execute"):
            result = result.execute()
        with result.collect() as rows:
            found = [_shown(row) for row in rows]
        self.shown.append({"rows": sorted(found, key=canonical) if sort else found})

    def records(self, stream: Any) -> None:
        """Show the records of a stream."""
        with stream.execute_and_collect() as records:
            self.shown.append({"records": [_shown(record) for record in records]})

    def schema(self, table: Any) -> None:
        """Show the columns of a table."""
        self.say(str(table.get_resolved_schema()))

    def printed(self, function: Callable[[], object]) -> None:
        """Show what a call prints."""
        self.shown.append({"printed": self._capture(function)})

    def fails(self, function: Callable[[], object]) -> None:
        """Show that a call fails."""
        try:
            function()
        except Exception:
            self.shown.append({"fails": True})
        else:
            self.shown.append({"fails": False})


def _shown(record: Any) -> Any:
    if not hasattr(record, "get_row_kind"):
        return encode(record)
    values = [encode(value) for value in record]
    return [_KINDS[record.get_row_kind().name], *values]


def modules() -> list[str]:
    """The names of the modules with programs."""
    return sorted(each.stem for each in PROGRAMS.glob("*.py") if each.stem != "__init__")


def load(module: str, package: str) -> dict[str, Program]:
    """Import a module of programs for a package, and return its programs by name."""
    text = (PROGRAMS / f"{module}.py").read_text("utf-8")
    made = types.ModuleType(f"tables_{package}_{module}")
    sys.modules[made.__name__] = made  # so that its functions can be pickled
    source = _IMPORTED.sub(rf"\g<1>{package}", text)
    exec(compile(source, str(PROGRAMS / f"{module}.py"), "exec"), made.__dict__)
    own = [each for each in vars(made).values() if isinstance(each, types.FunctionType)]
    return {
        each.__name__: each
        for each in own
        if each.__module__ == made.__name__ and not each.__name__.startswith("_")
    }


@contextlib.contextmanager
def named(name: str) -> Iterator[None]:
    """Add the program's name to an error."""
    try:
        yield
    except Exception as error:
        error.add_note(f"program {name}")
        raise
