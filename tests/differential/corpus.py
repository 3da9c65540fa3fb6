"""The programs of the differential corpus: where they stand, how they load, how results compare.

A program is a function in one of the modules of ``programs/``: it gets an environment and builds
streams in it. The decorator says its number and how it runs::

    @program(35, compare="ordered_by_key:0", parallelism=2)
    def reduce(env: StreamExecutionEnvironment) -> DataStream:

Number and name make the program's name (``35_reduce``), which is that of its goldens too.

- ``compare``: ``multiset``, ``ordered``, ``ordered_by_key:<field>``, ``raises``,
  ``raises:<Error>``, ``printed`` or ``printed_multiset``.
- ``parallelism``: 1 where nothing is said.
- ``mode``: ``streaming`` or ``batch``; both where nothing is said.
- ``watermarks``: ``each record`` for programs about lateness. When a watermark comes depends on the
  clock in Flink; with it one comes after each record, there and here.
- ``python``: ``thread`` or ``process``, where PyFlink runs Python, if its usual place
  (``record.py``) is known to err.

Neither PyFlink nor Headrace is imported here: the recorder and the test both stand on this module.
"""

from __future__ import annotations

import ast
import importlib
import json
import os
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.differential.encoding import canonical

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE / "programs"
GOLDENS = HERE / "goldens"
MODES = ("streaming", "batch")
RULES = ("multiset", "ordered", "ordered_by_key", "raises", "printed", "printed_multiset")
UNNAMED = "result"

_IMPORTED_PYFLINK = re.compile(r"^(\s*(?:from|import)\s+)pyflink\b", re.MULTILINE)
_MARK = re.compile(r"^@program\((.*?)\)\ndef (\w+)", re.MULTILINE | re.DOTALL)
_SUBTASK_PREFIX = re.compile(r"\d+> ")


@dataclass(frozen=True)
class Program:
    """One program of the corpus: its module, its function, and what the decorator says."""

    module: str
    function: str
    number: int
    compare: str
    parallelism: int = 1
    mode: str = "streaming, batch"
    watermarks: str | None = None
    python: str | None = None

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise ValueError(f"{self.name}: compare must be one of {RULES}: {self.rule!r}")
        if self.rule in ("ordered", "printed") and self.parallelism != 1:
            raise ValueError(f"{self.name}: {self.rule} needs parallelism 1")
        if not set(self.modes) <= set(MODES):
            raise ValueError(f"{self.name}: mode must be among {MODES}: {self.mode!r}")
        if self.python not in (None, "thread", "process"):
            raise ValueError(f"{self.name}: python must be thread or process: {self.python!r}")
        if self.watermarks not in (None, "each record"):
            raise ValueError(f"{self.name}: watermarks must be 'each record': {self.watermarks!r}")
        if self.watermark_each_record and self.parallelism != 1:
            raise ValueError(f"{self.name}: a watermark after each record needs parallelism 1")

    @property
    def name(self) -> str:
        """Number and name: what the program's goldens and tests are called."""
        return f"{self.number:02}_{self.function}"

    @property
    def rule(self) -> str:
        """How results compare."""
        return self.compare.partition(":")[0]

    @property
    def argument(self) -> str:
        """What the rule goes by: the field that is the key, or the error's name."""
        return self.compare.partition(":")[2]

    @property
    def modes(self) -> tuple[str, ...]:
        """The modes that the program runs in, each with a golden of its own."""
        return tuple(mode.strip() for mode in self.mode.split(","))

    @property
    def watermark_each_record(self) -> bool:
        """Whether a watermark has to come after each record."""
        return self.watermarks is not None

    @property
    def prints(self) -> bool:
        """Whether the result is what the job printed, and not what its streams hold."""
        return self.rule.startswith("printed")

    def golden(self, mode: str) -> Path:
        """The file that holds what PyFlink answered in this mode."""
        suffix = "" if mode == "streaming" else f".{mode}"
        return GOLDENS / f"{self.name}{suffix}.json"


def programs() -> list[Program]:
    """Every program of the corpus, in the order of its number.

    Raises:
        ValueError: a decorator says what no rule knows, or two programs have one number.
    """
    found = [program for path in PROGRAMS.glob("*.py") for program in _programs_in(path)]
    by_number = {program.number: program for program in found}
    twice = [program.name for program in found if by_number[program.number] is not program]
    if twice:
        raise ValueError(f"another program has the number of {twice}")
    return [by_number[number] for number in sorted(by_number)]


def copy_programs(folder: Path, library: str) -> None:
    """Make a package of the programs in ``folder``, its imports changed to those of ``library``.

    The folder is put on the import path of this process and of those it will start: workers find
    there the functions and classes that the programs define.
    """
    package = _package(library)
    (folder / package).mkdir(parents=True, exist_ok=True)
    for path in PROGRAMS.glob("*.py"):
        source = _IMPORTED_PYFLINK.sub(rf"\g<1>{library}", path.read_text(encoding="utf-8"))
        (folder / package / path.name).write_text(source, encoding="utf-8")
    sys.path.insert(0, str(folder))
    inherited = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(folder), *filter(None, [inherited])])
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        del sys.modules[name]
    importlib.invalidate_caches()


def load(program: Program, library: str) -> Callable[[Any], Any]:
    """The function that builds the program, from the copy made last for ``library``."""
    module = importlib.import_module(f"{_package(library)}.{program.module}")
    build: Callable[[Any], Any] = getattr(module, program.function)
    return build


def without_module(text: str, program: Program, library: str) -> str:
    """``text`` with the program's name before its classes, in place of the module they stand in."""
    return re.sub(rf"\b{_package(library)}\.\w+\.", f"{program.name}.", text)


def named_streams(built: object) -> dict[str, Any]:
    """What ``build`` gave back as named streams; a lone stream is called ``result``."""
    return dict(built) if isinstance(built, Mapping) else {UNNAMED: built}


def arranged(program: Program, values: list[object]) -> object:
    """Encoded values as the program's rule compares them: equal results give equal data."""
    if program.rule == "multiset":
        return sorted(values, key=canonical)
    if program.rule == "ordered_by_key":
        by_key: defaultdict[str, list[object]] = defaultdict(list)
        for value in values:
            by_key[canonical(_field(value, program.argument))].append(value)
        return dict(by_key)
    return values


def arranged_lines(program: Program, lines: list[str]) -> list[str]:
    """Printed lines as the rule compares them.

    Which subtask a record prints from is each engine's own affair, so with several of them only
    the fact of the prefix counts, and not its number or the order of lines.
    """
    if program.rule == "printed":
        return lines
    return sorted(_SUBTASK_PREFIX.sub("N> ", line, count=1) for line in lines)


def read_golden(program: Program, mode: str) -> dict[str, Any]:
    """What PyFlink answered, as ``record.py`` wrote it."""
    golden: dict[str, Any] = json.loads(program.golden(mode).read_text(encoding="utf-8"))
    return golden


def _package(library: str) -> str:
    return f"{library}_programs"


def _programs_in(path: Path) -> Iterator[Program]:
    """The programs of one module, from its text: it cannot be imported without its library."""
    for words, function in _MARK.findall(path.read_text(encoding="utf-8")):
        mark = ast.parse(f"program({words})", mode="eval").body
        assert isinstance(mark, ast.Call)
        how_it_runs = {str(word.arg): ast.literal_eval(word.value) for word in mark.keywords}
        yield Program(path.stem, function, ast.literal_eval(mark.args[0]), **how_it_runs)


def _field(encoded: object, name: str) -> object:
    if not isinstance(encoded, dict):
        raise TypeError(f"ordered_by_key needs tuples or rows, not {encoded!r}")
    if name.isdigit():
        items = encoded.get("tuple") or encoded.get("row") or encoded.get("list")
        if items is None:
            raise TypeError(f"ordered_by_key:{name} needs tuples or rows, not {encoded!r}")
        return items[int(name)]
    return encoded["row"][encoded["names"].index(name)]
