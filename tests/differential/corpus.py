"""The programs of the differential corpus: their headers, their files, and how results compare.

A program is a module ``programs/NN_name.py`` (or ``NNN_name.py``) with ``build(env)``. Its
docstring ends in a header:

    compare: multiset | ordered | ordered_by_key:<field> | raises | raises:<Error> | printed
    parallelism: <n>
    mode: streaming, batch
    watermarks: each record
    python: thread | process

The last two are seldom needed. ``python`` says where PyFlink runs Python, where its usual place
(``record.py``) is known to err. The other is for programs about lateness: when a watermark comes
depends on the clock in Flink; with it one comes after each record, there and here.

Neither PyFlink nor Headrace is imported here: the recorder and the test both stand on this module.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import sys
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.differential.encoding import canonical

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE / "programs"
GOLDENS = HERE / "goldens"
MODES = ("streaming", "batch")
RULES = ("multiset", "ordered", "ordered_by_key", "raises", "printed", "printed_multiset")
UNNAMED = "result"

_IMPORTED_PYFLINK = re.compile(r"^(\s*(?:from|import)\s+)pyflink\b", re.MULTILINE)
_HEADER_LINE = re.compile(
    r"^(compare|parallelism|mode|watermarks|python):\s*(.+?)\s*$", re.MULTILINE
)
_SUBTASK_PREFIX = re.compile(r"\d+> ")


@dataclass(frozen=True)
class Program:
    """One program of the corpus and what its header says."""

    name: str
    path: Path
    rule: str
    argument: str
    parallelism: int
    modes: tuple[str, ...]
    watermark_each_record: bool = False
    python: str | None = None

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise ValueError(f"{self.path.name}: compare must be one of {RULES}: {self.rule!r}")
        if self.rule in ("ordered", "printed") and self.parallelism != 1:
            raise ValueError(f"{self.path.name}: {self.rule} needs parallelism 1")
        if not self.modes or not set(self.modes) <= set(MODES):
            raise ValueError(f"{self.path.name}: mode must be among {MODES}: {self.modes}")
        if self.python not in (None, "thread", "process"):
            raise ValueError(f"{self.path.name}: python must be thread or process: {self.python}")
        if self.watermark_each_record and self.parallelism != 1:
            raise ValueError(f"{self.path.name}: a watermark after each record needs parallelism 1")

    def golden(self, mode: str) -> Path:
        """The file that holds what PyFlink answered in this mode."""
        suffix = "" if mode == "streaming" else f".{mode}"
        return GOLDENS / f"{self.name}{suffix}.json"

    @property
    def prints(self) -> bool:
        """Whether the result is what the job printed, and not what its streams hold."""
        return self.rule.startswith("printed")


def programs() -> list[Program]:
    """Every program of the corpus, in the order of its number."""
    paths = PROGRAMS.glob("[0-9]*_*.py")
    return [read_program(path) for path in sorted(paths, key=_number)]


def read_program(path: Path) -> Program:
    """The program at ``path``, by its header.

    Raises:
        ValueError: a header line is missing, or says what no rule knows.
    """
    docstring = path.read_text(encoding="utf-8").split('"""')[1]
    header = dict(_HEADER_LINE.findall(docstring))
    missing = {"compare", "parallelism", "mode"} - set(header)
    if missing:
        raise ValueError(f"{path.name}: the header lacks {sorted(missing)}")
    watermarks = header.get("watermarks")
    if watermarks not in (None, "each record"):
        raise ValueError(f"{path.name}: watermarks can be 'each record' only: {watermarks!r}")
    rule, _, argument = header["compare"].partition(":")
    return Program(
        name=path.stem,
        path=path,
        rule=rule,
        argument=argument,
        parallelism=int(header["parallelism"]),
        modes=tuple(mode.strip() for mode in header["mode"].split(",")),
        watermark_each_record=watermarks is not None,
        python=header.get("python"),
    )


def importable(folder: Path) -> None:
    """Put ``folder`` on the import path of this process and of those it will start.

    Workers then find the functions and classes that a program loaded from there defines.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
        inherited = os.environ.get("PYTHONPATH")
        os.environ["PYTHONPATH"] = os.pathsep.join([str(folder), *filter(None, [inherited])])


def load(program: Program, folder: Path, library: str = "pyflink") -> ModuleType:
    """The program as a fresh module, from a copy in ``folder`` whose imports say ``library``."""
    source = program.path.read_text(encoding="utf-8")
    if library != "pyflink":
        source = _IMPORTED_PYFLINK.sub(rf"\g<1>{library}", source)
    importable(folder)
    (folder / program.path.name).write_text(source, encoding="utf-8")
    sys.modules.pop(program.name, None)
    importlib.invalidate_caches()
    return importlib.import_module(program.name)


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


def _number(path: Path) -> int:
    return int(path.name.partition("_")[0])


def _field(encoded: object, name: str) -> object:
    if not isinstance(encoded, dict):
        raise TypeError(f"ordered_by_key needs tuples or rows, not {encoded!r}")
    if name.isdigit():
        items = encoded.get("tuple") or encoded.get("row") or encoded.get("list")
        if items is None:
            raise TypeError(f"ordered_by_key:{name} needs tuples or rows, not {encoded!r}")
        return items[int(name)]
    return encoded["row"][encoded["names"].index(name)]
