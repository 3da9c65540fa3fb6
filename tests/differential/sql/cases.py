"""The statements of the SQL corpus: how they are written down, and how they are read.

``statements/<area>.sql`` holds cases; a case begins with its name and goes on to the next one::

    -- case: count_by_key
    -- mode: streaming
    -- order: by k
    -- set: table.exec.mini-batch.enabled = true
    SELECT k, COUNT(*) FROM orders GROUP BY k;

The answer to the last statement is what is recorded; the ones before it prepare. A statement ends
with a semicolon at the end of a line (in a statement set, after END). The tables of
``statements/tables.sql`` that a case names are made before it; ``{data}`` is the folder of their
rows, ``{folder}`` an empty one of the case's own.

- ``mode``: ``streaming``, ``batch`` or ``both`` (where nothing is said).
- ``order``: how rows are compared in streaming: ``exact`` (where nothing is said), ``bag``,
  ``by c1, c2`` (in order for equal values of these columns) or ``folded`` (what the changelog adds
  up to). ``batch order``: the same in batch, where ``bag`` is what counts if nothing is said.
- ``set``: a setting, beside those of ``SETTINGS``. More than one line is possible.
- ``show``: ``schema`` where only names and types are recorded and nothing runs.
- ``note``: what the case is about, or relies on.

Neither PyFlink nor Headrace is imported here: the recorder and the test both stand on this module.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

HERE = Path(__file__).resolve().parent
STATEMENTS = HERE / "statements"
DATA = HERE / "data"
GOLDENS = HERE / "goldens"
MODES = ("streaming", "batch")

# A watermark follows every row: with an interval of none, Flink emits it as soon as it rises.
SETTINGS = {
    "parallelism.default": "1",
    "table.local-time-zone": "UTC",
    "pipeline.auto-watermark-interval": "0 ms",
}

_HEADER = re.compile(r"-- ([a-z][a-z ]*): *(.*)")
_TABLE = re.compile(r"CREATE TABLE (\w+)")
_BLOCK = re.compile(r"(EXECUTE\s+|EXPLAIN\s+)?STATEMENT\s+SET\b|BEGIN\s+STATEMENT\s+SET", re.I)


@dataclass(frozen=True)
class Case:
    """One case of the corpus."""

    area: str
    name: str
    statements: tuple[str, ...]
    modes: tuple[str, ...] = MODES
    settings: dict[str, str] = field(default_factory=dict)
    orders: dict[str, str] = field(default_factory=dict)
    show: str = "rows"
    note: str = ""

    def order(self, mode: str) -> str:
        """How its rows are compared in this mode."""
        return self.orders.get(mode, "exact" if mode == "streaming" else "bag")

    def script(self, data: Path, folder: Path) -> list[str]:
        """All its statements with their folders put in, the tables it names first."""
        text = "\n".join(self.statements)
        made = [ddl for name, ddl in tables().items() if re.search(rf"\b{name}\b", text)]
        return [
            each.replace("{data}", str(data)).replace("{folder}", str(folder))
            for each in (*made, *self.statements)
        ]


@cache
def tables() -> dict[str, str]:
    """The tables that cases share, by name."""
    text = (STATEMENTS / "tables.sql").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("--")]
    found = split(lines)
    return {_TABLE.match(each).group(1): each for each in found}  # type: ignore[union-attr]


def areas() -> list[str]:
    """The names of the files of cases."""
    return sorted(path.stem for path in STATEMENTS.glob("*.sql") if path.stem != "tables")


@cache
def cases(area: str) -> list[Case]:
    """The cases of an area, in their order."""
    text = (STATEMENTS / f"{area}.sql").read_text(encoding="utf-8")
    found = list(_cases(area, text.splitlines()))
    names = [case.name for case in found]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ValueError(f"{area}: two cases have one name: {sorted(twice)}")
    return found


def every_case() -> Iterator[Case]:
    """The cases of all areas."""
    for area in areas():
        yield from cases(area)


def split(lines: list[str]) -> list[str]:
    """Cut lines into statements, without the semicolon at their ends."""
    statements: list[str] = []
    current: list[str] = []
    for line in lines:
        if not line.strip() and not current:
            continue
        current.append(line.rstrip())
        block = _BLOCK.match("\n".join(current))
        if line.rstrip().endswith(";") and (not block or line.strip().upper() == "END;"):
            statements.append("\n".join(current).removesuffix(";"))
            current = []
    if "".join(current).strip():
        raise ValueError(f"no semicolon at the end of: {' '.join(current)}")
    return statements


def _cases(area: str, lines: list[str]) -> Iterator[Case]:
    starts = [number for number, line in enumerate(lines) if line.startswith("-- case: ")]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        yield _case(area, lines[start:end])


def _case(area: str, lines: list[str]) -> Case:
    settings: dict[str, str] = {}
    orders: dict[str, str] = {}
    said = {"case": "", "mode": "both", "show": "rows", "note": ""}
    body = []
    for line in lines:
        header = _HEADER.fullmatch(line)
        if header is None:
            if not line.startswith("--"):
                body.append(line)
            continue
        key, value = header.groups()
        if key == "set":
            name, _, setting = value.partition(" = ")
            settings[name] = setting
        elif key in ("order", "batch order"):
            orders["streaming" if key == "order" else "batch"] = value
        elif key in said:
            said[key] = f"{said[key]} {value}".strip() if key == "note" else value
        else:
            raise ValueError(f"{area}: unknown line {line!r}")
    if said["mode"] not in ("both", *MODES) or said["show"] not in ("rows", "schema"):
        raise ValueError(f"{area}: wrong mode or show in {said['case']}")
    return Case(
        area=area,
        name=said["case"],
        statements=tuple(split(body)),
        modes=MODES if said["mode"] == "both" else (said["mode"],),
        settings=settings,
        orders=orders,
        show=said["show"],
        note=said["note"],
    )
