"""Entries as they lie in a page: values without the names of their states.

Most operators declare one or two states, and what these hold is made of atoms. Such an entry needs
no dictionary of its own and no pickle of its own: a page of them is read and written for a third
of the price (docs/adr/0010-cost-per-record.md).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from headrace.runtime.immutability import ATOMIC_TYPES, all_atomic, is_immutable
from headrace.runtime.state.backend import MISSING, Entry
from headrace.runtime.state.kinds import LIST, MAP, TIMES, VALUE
from headrace.runtime.state.pages.schemas import Schema
from headrace.runtime.state.time_buffer import TimeBuffer

_MOST_ITEMS = 64
"""A list or map of more may be on its way to records of its own, so it is pickled alone."""


Layout = tuple[tuple[str, str], ...]
"""Pairs of slot and storage kind; entries of equal layouts are stored in the same way."""


def layout_of(schema: Schema) -> Layout:
    """Return the layout of the states that are declared."""
    return tuple((slot, kind.layout) for slot, kind in schema)


def compactor(layout: Layout) -> Callable[[Entry], Any]:
    """Return a function that returns an entry's compact form; ``MISSING`` if it has none."""
    if not layout or any(kind == TIMES for _, kind in layout):
        # Buffers are pickled alone: what is compact is read with every other key's.
        return lambda entry: MISSING
    if len(layout) > 1:
        return _compactor_of_many(layout)
    ((slot, kind),) = layout
    compact_value = _COMPACT[kind]

    def compact(entry: Entry) -> Any:
        value = entry.get(slot, MISSING)
        return MISSING if value is MISSING or len(entry) != 1 else compact_value(value)

    def compact_atoms(entry: Entry) -> Any:
        value: Any = entry.get(slot)
        of = type(value)  # the usual cases, without another call
        if (of in ATOMIC_TYPES or (of is tuple and all_atomic(map(type, value)))) and len(
            entry
        ) == 1:
            return value if value is not None or slot in entry else MISSING
        return compact(entry)

    return compact_atoms if kind == VALUE else compact


def expander(layout: Layout) -> Callable[[Any], Entry]:
    """Return a function that makes an entry from its compact form, without shared objects."""
    if len(layout) > 1:
        return _expander_of_many(layout)
    if not layout:
        return lambda stored: stored  # nothing is compact
    ((slot, kind),) = layout
    expand_value = _EXPAND.get(kind)
    if expand_value is None:
        return lambda stored: {slot: stored}
    own = expand_value
    return lambda stored: {slot: own(stored)}


def holds_containers(layout: Layout) -> bool:
    """Return True if something in an entry's compact form could be changed in place."""
    return any(kind in _EXPAND for _, kind in layout)


@lru_cache(maxsize=256)  # each call of a group asks for it
def packer(layout: Layout, big: frozenset[type]) -> Callable[[Entry], Any] | None:
    """Return a function that returns the part of an entry to be pickled.

    None if that is the entry itself. An entry with time buffers becomes a tuple, in the order of
    its states, since names and a class reference would be most of a small one's bytes. An entry
    with a value of a type in ``big`` stays as it is.
    """
    if all(kind != TIMES for _, kind in layout):
        return None
    lines = ["get, found = entry.get, 0"]
    for number, (_, kind) in enumerate(layout):
        name = f"value_{number}"
        lines += [
            f"{name} = get(slot_{number})",
            f"if {name} is not None:",
            f"    if type({name}) in big: return entry",
            "    found += 1",
        ]
        if kind == TIMES:
            lines.append(f"    {name} = {name}.times, {name}.values")
    # None stands for a slot that is not there: an entry with one, or with others, is as it is.
    lines.append(f"return ({_list_variables(layout)}) if found == len(entry) else entry")
    return _compile_function("def packed(entry):", lines, {"big": big, **_bind_slots(layout)})


@lru_cache(maxsize=256)
def unpacker(layout: Layout) -> Callable[[tuple[Any, ...]], Entry]:
    """Return the inverse of the function that ``packer`` returns."""
    lines = [f"{_list_variables(layout)} = values" if layout else "() = values", "entry = {}"]
    for number, (_, kind) in enumerate(layout):
        name = f"value_{number}"
        made = f"TimeBuffer(*{name})" if kind == TIMES else name
        lines.append(f"if {name} is not None: entry[slot_{number}] = {made}")
    made_of = {"TimeBuffer": TimeBuffer, **_bind_slots(layout)}
    return _compile_function("def unpacked(values):", [*lines, "return entry"], made_of)


def _list_variables(layout: Layout) -> str:
    return "".join(f"value_{number}, " for number in range(len(layout)))


def _bind_slots(layout: Layout) -> dict[str, str]:
    """Return the names of states by their names in generated functions.

    They are the declared objects themselves, so that dictionaries find them by identity.
    """
    return {f"slot_{number}": slot for number, (slot, _) in enumerate(layout)}


def _compile_function(
    head: str, lines: Sequence[str], names: dict[str, Any]
) -> Callable[[Any], Any]:
    """Compile a function from ``head`` and the lines of its body; ``names`` are its globals.

    Without a loop over the slots, an entry takes half the time.
    """
    _, name, _ = re.split(r"[ (]", head, maxsplit=2)
    exec("\n    ".join([head, *lines]), names)
    made: Callable[[Any], Any] = names[name]
    return made


def _compactor_of_many(layout: Layout) -> Callable[[Entry], Any]:
    slots = [(slot, _COMPACT[kind]) for slot, kind in layout]
    known = {slot for slot, _ in layout}.issuperset

    def compact(entry: Entry) -> Any:
        if not known(entry):
            return MISSING
        values = []
        for slot, compact_value in slots:
            value = entry.get(slot)
            if value is not None:
                value = compact_value(value)
                if value is MISSING:
                    return MISSING
            elif slot in entry:
                return MISSING  # None stands for a slot that is not there
            values.append(value)
        return tuple(values)

    return compact


def _expander_of_many(layout: Layout) -> Callable[[Any], Entry]:
    slots = [(slot, _EXPAND.get(kind)) for slot, kind in layout]

    def expanded(stored: Any) -> Entry:
        return {
            slot: value if own is None else own(value)
            for (slot, own), value in zip(slots, stored, strict=True)
            if value is not None
        }

    return expanded


def _compact_value(value: Any) -> Any:
    kind = type(value)
    if (
        kind in ATOMIC_TYPES
        or (kind is tuple and all_atomic(map(type, value)))
        or is_immutable(value)
    ):
        return value
    return MISSING


def _compact_list(value: Any) -> Any:
    if type(value) is not list or len(value) > _MOST_ITEMS:
        return MISSING
    return value if all_atomic(map(type, value)) or all(map(is_immutable, value)) else MISSING


def _compact_map(value: Any) -> Any:
    if type(value) is not dict or len(value) > _MOST_ITEMS or not all(map(is_immutable, value)):
        return MISSING
    values = value.values()
    return value if all_atomic(map(type, values)) or all(map(is_immutable, values)) else MISSING


_COMPACT: dict[str, Callable[[Any], Any]] = {
    VALUE: _compact_value,
    LIST: _compact_list,
    MAP: _compact_map,
}
_EXPAND: dict[str, Callable[[Any], Any]] = {LIST: list, MAP: dict}
