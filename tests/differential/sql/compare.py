"""Compare what an engine answers to a case with what Flink answered.

Both are answers as the recorder writes them: ``columns`` and ``rows`` (kind, then cells by
``tests.differential.encoding``), or ``printed`` lines, or ``refused``. The recorded ``plan`` is
for reading: nodes are Flink's own. Nothing here knows an engine.
"""

from __future__ import annotations

import struct
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from tests.differential.encoding import canonical

Answer = Mapping[str, Any]
Rows = Sequence[Sequence[Any]]

SHOWN = 5


def differences(recorded: Answer, given: Answer, order: str = "exact") -> list[str]:
    """What differs, in words; nothing where the answers agree."""
    if "refused" in recorded or "refused" in given:
        return _refusals(recorded, given)
    found = []
    for key in ("columns", "rows", "printed"):
        if key in recorded and key not in given:
            found.append(f"no {key}")
    if found:
        return found
    if "columns" in recorded:
        found += _columns(recorded["columns"], given["columns"])
    if "rows" in recorded:
        names = [name for name, _ in recorded["columns"]]
        rows, ours = (_rounded(each["rows"], recorded["columns"]) for each in (recorded, given))
        found += _rows(rows, ours, order, names)
    if "printed" in recorded:
        found += _in_order(recorded["printed"], given["printed"])
    return found


def _rounded(rows: Rows, columns: Rows) -> Rows:
    """Rows whose values of type FLOAT have 32 bits: a recorded one may be written with 64."""
    places = {at for at, (_, kind) in enumerate(columns, 1) if "FLOAT" in kind}
    if not places:
        return rows
    return [[_short(cell) if at in places else cell for at, cell in enumerate(row)] for row in rows]


def _short(cell: Any) -> Any:
    if isinstance(cell, dict) and [*cell] == ["float"]:
        return {"float": repr(struct.unpack("f", struct.pack("f", float(cell["float"])))[0])}
    if isinstance(cell, dict):
        return {key: _short(value) for key, value in cell.items()}
    return [*map(_short, cell)] if isinstance(cell, list) else cell


def fold(rows: Rows) -> Counter[str]:
    """What a changelog adds up to: how often each row is there at its end.

    Raises:
        ValueError: a row is taken back that is not there.
    """
    there: Counter[str] = Counter()
    for kind, *cells in rows:
        row = canonical(cells)
        if kind in ("+I", "+U"):
            there[row] += 1
        elif there[row] == 0:
            raise ValueError(f"{kind} of a row that is not there: {row}")
        else:
            there[row] -= 1
    return +there


def _refusals(recorded: Answer, given: Answer) -> list[str]:
    if "refused" not in given:
        kind, message = (recorded["refused"]["causes"] or [["?", "?"]])[-1]
        return [f"not refused; Flink says {kind.rpartition('.')[2]}: {message}"]
    if "refused" not in recorded:
        return [f"refused: {given['refused']}"]
    # Whether it fails while planned or while it runs is a part of the contract.
    ours, flinks = given["refused"].get("when"), recorded["refused"]["when"]
    return [] if ours == flinks else [f"refused in {ours}, by Flink in {flinks}"]


def _columns(recorded: Rows, given: Rows) -> list[str]:
    if len(recorded) != len(given):
        return [f"{len(given)} columns, not {len(recorded)}: {given}"]
    return [
        f"column {at + 1} is {' '.join(ours)}, not {' '.join(flinks)}"
        for at, (ours, flinks) in enumerate(zip(given, recorded, strict=True))
        if list(ours) != list(flinks)
    ]


def _rows(recorded: Rows, given: Rows, order: str, names: list[str]) -> list[str]:
    rule, _, said = order.partition(" ")
    if rule == "exact":
        return _in_order(recorded, given)
    if rule == "bag":
        return _bags(Counter(map(canonical, recorded)), Counter(map(canonical, given)))
    if rule == "folded":
        try:
            return _bags(fold(recorded), fold(given))
        except ValueError as error:
            return [str(error)]
    if rule == "by":
        at = [names.index(name.strip()) + 1 for name in said.split(",")]
        ours, flinks = _by_key(given, at), _by_key(recorded, at)
        found = []
        for key in {**flinks, **ours}:
            for each in _in_order(flinks.get(key, []), ours.get(key, [])):
                found.append(f"for {key}: {each}")
        return found[:SHOWN]
    raise ValueError(f"unknown order {order!r}")


def _by_key(rows: Rows, at: list[int]) -> dict[str, list[Sequence[Any]]]:
    found = defaultdict(list)
    for row in rows:
        found[canonical([row[each] for each in at])].append(row)
    return found


def _in_order(recorded: Sequence[Any], given: Sequence[Any]) -> list[str]:
    for at, (flinks, ours) in enumerate(zip(recorded, given, strict=False)):
        if canonical(flinks) != canonical(ours):
            return [f"row {at + 1} is {canonical(ours)}, not {canonical(flinks)}"]
    if len(recorded) != len(given):
        rest = given[len(recorded) :] or recorded[len(given) :]
        what = "too many" if len(given) > len(recorded) else "missing"
        shown = ", ".join(map(canonical, rest[:SHOWN]))
        return [f"{len(given)} rows, not {len(recorded)}; {what}: {shown}"]
    return []


def _bags(recorded: Counter[str], given: Counter[str]) -> list[str]:
    missing, more = recorded - given, given - recorded
    found = [f"missing: {row}" for row in list(missing.elements())[:SHOWN]]
    return found + [f"too many: {row}" for row in list(more.elements())[:SHOWN]]
