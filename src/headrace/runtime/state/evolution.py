"""Changes of what a state holds: stored values are converted to what the program declares now.

A dataclass in state may get and lose fields, and rename them; so may a declared row, of which also
the types of fields may become wider. A migration of the user's takes any other change. A key group
is converted as a whole before its first use, so that all of its values are of one program.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from decimal import Decimal
from typing import Any, NamedTuple

from headrace.common._types.data import ANY, CLASS, TypeData, field_names, type_text
from headrace.common._types.from_data import type_from_data
from headrace.common._types.information import TypeInformation
from headrace.common._types.row import row_of
from headrace.errors import CheckpointError, PlanError, TypeMismatchError
from headrace.runtime.state.fields import ClassChange, SeenFields, changed_classes, resolve_class
from headrace.runtime.state.kinds import (
    LIST,
    MAP,
    NO_EVOLUTION,
    RESERVED_NAMES,
    TIMES,
    VALUE,
    Evolution,
    StateKind,
)
from headrace.runtime.state.stored_objects import (
    As,
    Loads,
    StoredObject,
    loads_of,
    sources_of,
    stored_class,
    unclear_names,
)
from headrace.runtime.state.time_buffer import TimeBuffer

Convert = Callable[[Any], Any]


class StateChange(NamedTuple):
    """How the stored values of a state become values of the declared state.

    ``kind``: the declared one. ``loads``: reads pickled values with objects of changed classes;
    None if there are none. ``convert``: of one value, element or value of a map; None: unchanged.
    ``restamp``: adds or removes the time of a time-to-live in stored values; ``kind`` is then the
    kind before that.
    """

    kind: StateKind
    loads: Loads | None
    convert: Convert | None
    restamp: Convert | None = None

    def apply(self, stored: Any) -> Any:
        """Return what a slot holds, converted; None if nothing is left."""
        found = self._converted(stored)
        return found if self.restamp is None or found is None else self.restamp(found)

    def _converted(self, stored: Any) -> Any:
        layout = self.kind.layout
        if layout == LIST:
            plain: Any = [*stored]
        elif layout == MAP:
            plain = dict(stored.items())
        elif layout == TIMES:
            plain = TimeBuffer(*map(list, zip(*stored, strict=True)))
        else:
            plain = stored
        if self.loads is not None:
            plain = pickle.loads(pickle.dumps(self.loads(pickle.dumps(plain, 5)), 5))
        convert = self.convert
        if convert is None:
            return plain
        if layout == LIST:
            return [one for one in map(self._convert_one, plain) if one is not None] or None
        if layout == MAP:
            items = ((key, self._convert_one(value)) for key, value in plain.items())
            return {key: value for key, value in items if value is not None} or None
        if layout == TIMES:
            pairs = [(at, convert(value)) for at, value in plain]
            kept = [(at, value) for at, value in pairs if value is not None]
            return TimeBuffer(*map(list, zip(*kept, strict=True))) if kept else None
        return self._convert_one(plain)

    def _convert_one(self, value: Any) -> Any:
        assert self.convert is not None
        if not self.kind.expires:
            return self.convert(value)
        content, stamp = value
        converted = self.convert(content)
        return None if converted is None else (converted, stamp)


def change_of(
    state: str,
    before: StateKind,
    now: StateKind,
    seen: SeenFields,
    evolution: Evolution = NO_EVOLUTION,
    operator: str | None = None,
) -> StateChange | None:
    """Return how a state that was stored as ``before`` is converted; None if it is not.

    ``seen``: the fields that dataclasses of stored values had.

    Raises:
        CheckpointError: it cannot be converted.
    """
    if before == now and not seen:
        return None
    if evolution.stamp is not None and before.expires != now.expires and now.layout == VALUE:
        like_before = now._replace(expires=before.expires)
        change = change_of(state, before, like_before, seen, evolution, operator)
        change = change or StateChange(like_before, None, None)
        return change._replace(restamp=_restamping(now.expires, evolution.stamp))
    differences = _kind_differences(before, now)
    if differences:
        raise _refusal(state, operator, before, now, differences)
    changed = changed_classes(seen, evolution.renamed)
    migrations = [of for version, of in evolution.migrations if version > before.version]
    if migrations:
        convert = _migration(state, migrations, now.type)
        if evolution.ordered:
            convert = _ordered(convert)
        return StateChange(now, _loads(changed, As.FIELDS), convert)
    differences = [
        f"{each.name.partition(':')[2]}.{field} is new, and has no default"
        for each in changed
        for field in each.missing
    ]
    unclear = [
        _unclear(f"{each.name.partition(':')[2]}.{field}", old)
        for each in changed
        for field, old in each.unclear
    ]
    found = None
    if before.type is not None and now.type is not None:
        comparison = _Comparison(evolution)
        found = comparison.conversion(before.type, now.type, "")
        differences += comparison.differences
        unclear += comparison.unclear
        if found is not None and (now.layout in (LIST, MAP) or evolution.ordered):
            found = comparison.of_elements(before.type, now.type)
        if found is not None and evolution.ordered:
            found = _ordered(found)
    if differences or unclear:
        raise _refusal(state, operator, before, now, differences, unclear)
    if not changed and found is None:
        return None
    loads = _loads(changed, As.CURRENT, evolution.renamed) if changed else None
    return StateChange(now, loads, found)


def _restamping(expires: bool, stamp: Callable[[], int]) -> Convert:
    if not expires:
        return lambda stored: stored[0]
    return lambda value: (value, stamp())


def _ordered(convert: Convert) -> Convert:
    def converted(pair: Any) -> Any:
        value = convert(pair[1])
        return None if value is None else (pair[0], value)

    return converted


def stored_loads(seen_by_state: Iterable[SeenFields]) -> Loads:
    """Return a function that loads values as they were stored, to be converted later."""
    changed = [each for seen in seen_by_state for each in changed_classes(seen, {})]
    return _loads(changed, As.STORED)


def check_page(state: str, before: StateKind, now: StateKind, operator: str | None) -> None:
    """Check that values of a single page, of an older program, are what is declared now.

    Raises:
        CheckpointError: they are not; the whole key group was said to be.
    """
    if before != now:
        differences = _kind_differences(before._replace(version=now.version), now)
        if before.type is not None and now.type is not None:
            comparison = _Comparison(NO_EVOLUTION)
            if comparison.conversion(before.type, now.type, "") is not None:
                differences.append(f"was {type_text(before.type)}, is {type_text(now.type)} now")
            differences += comparison.differences
        if differences:
            raise _refusal(state, operator, before, now, differences)


def _loads(
    changed: Iterable[ClassChange], mode: As, renamed: Mapping[str, str] | None = None
) -> Loads:
    found: dict[tuple[str, str], type[StoredObject]] = {}
    for each in changed:
        module, _, qualname = each.name.partition(":")
        made = stored_class(each.cls, each.stored, mode, renamed or {})
        found[module, qualname] = made
        # A class that has moved is pickled again under its name of now.
        found.setdefault((each.cls.__module__, each.cls.__qualname__), made)
    return loads_of(found)


def _kind_differences(before: StateKind, now: StateKind) -> list[str]:
    found = []
    if before.kind != now.kind:
        found.append(f"it was {before.kind} state, and is {now.kind} state now")
    if before.expires != now.expires:
        had, has = ("no ", "a ") if now.expires else ("a ", "no ")
        found.append(f"it had {had}time-to-live, and has {has}time-to-live now")
    if before.version > now.version:
        found.append(
            f"its values were migrated to version {before.version}, and the program knows"
            f" {now.version or 'no version'}"
        )
    return found


def _migration(state: str, migrations: list[Convert], type_data: TypeData | None) -> Convert:
    """Return the function that runs all migrations, and fits the result to the declared type."""
    fit = None if type_data is None else _fit_to(_element_type(type_data))

    def migrate(value: Any) -> Any:
        for migration in migrations:
            if value is None:
                return None
            try:
                value = migration(value)
            except Exception as error:
                error.add_note(f"raised by the function of migrate(), of state {state!r}")
                raise
        if fit is None or value is None:
            return value
        try:
            return fit(value)
        except TypeMismatchError as error:
            error.add_note(f"a value that migrate() returned, of state {state!r}")
            raise

    return migrate


def _fit_to(data: TypeData) -> Convert | None:
    """Return the function that fits a value to a type; None: it stays as it is."""
    try:
        return type_from_data(data).coercer()
    except PlanError:
        return None  # of a class of the program's: values are not converted to it


def _element_type(data: TypeData) -> TypeData:
    found: TypeData = data["of"][-1] if data["type"] in ("LIST", "MAP") else data
    return found


_INTEGERS = ("BYTE", "SHORT", "INT", "LONG", "BIG_INT")
_WIDER: dict[tuple[str, str], Convert | None] = {
    **{(one, other): None for at, one in enumerate(_INTEGERS) for other in _INTEGERS[at + 1 :]},
    **{(one, "DOUBLE"): float for one in ("BYTE", "SHORT", "INT")},
    **{(one, "FLOAT"): float for one in ("BYTE", "SHORT")},
    **{(one, "BIG_DEC"): Decimal for one in _INTEGERS},
    ("FLOAT", "DOUBLE"): None,
    ("CHAR", "STRING"): None,
}
"""By type before and now, the conversion of a value, without loss; None if it stays the same."""

_CONTAINERS = ("LIST", "PRIMITIVE_ARRAY", "BASIC_ARRAY", "OBJECT_ARRAY")


class _Comparison:
    """Compares types part by part; collects the differences that cannot be converted."""

    def __init__(self, evolution: Evolution) -> None:
        self._evolution = evolution
        self.differences: list[str] = []
        self.unclear: list[str] = []

    def of_elements(self, before: TypeData, now: TypeData) -> Convert | None:
        """Return the conversion of an element, or of a value of a map."""
        return self.conversion(_element_type(before), _element_type(now), "")

    def conversion(self, before: TypeData, now: TypeData, path: str) -> Convert | None:
        """Return the conversion of a value; None: it is the same."""
        before, now = _inner(before), _inner(now)
        names = before["type"], now["type"]
        if before == now or ANY in names:
            return None
        if names in _WIDER:
            return _unless_none(_WIDER[names])
        if names[0] != names[1] or "text" in before:
            return self._of_class(before, now, path)
        if names[0] == "ROW":
            return self._row(before, now, path)
        parts = before.get("of", ()), now.get("of", ())
        if len(parts[0]) != len(parts[1]):
            self._add(path, before, now)
            return None
        if names[0] == "TUPLE":
            steps = [f"{path}.f{at}" for at in range(len(parts[0]))]
            converts = [*map(self.conversion, *parts, steps)]
            return _tuple_conversion(converts) if any(converts) else None
        if names[0] == "MAP":
            if self.conversion(parts[0][0], parts[1][0], f"{path}.key") is not None:
                self._add(f"{path}.key", parts[0][0], parts[1][0])
            of_value = self.conversion(parts[0][1], parts[1][1], f"{path}.value")
            return None if of_value is None else _map_conversion(of_value)
        if names[0] in _CONTAINERS:
            of_element = self.conversion(parts[0][0], parts[1][0], f"{path}[]")
            return None if of_element is None else _list_conversion(of_element)
        if type_text(before) != type_text(now):
            self._add(path, before, now)
        return None

    def _of_class(self, before: TypeData, now: TypeData, path: str) -> Convert | None:
        """Return the conversion between types that ``Types`` does not make, or different ones."""
        names = [_class_name(data) for data in (before, now)]
        cls = resolve_class(names[0]) if names[0] else None
        if cls is None or not names[1] or resolve_class(names[1]) is not cls:
            if type_text(before) != type_text(now):
                self._add(path, before, now)
            return None
        if not issubclass(cls, TypeInformation):
            return None
        try:
            return cls.stored_conversion(before, now)
        except TypeMismatchError as error:
            self.differences.append(f"{path} {error.message}".lstrip(". "))
            return None

    def _row(self, before: TypeData, now: TypeData, path: str) -> Convert | None:
        old_names, new_names = field_names(before), field_names(now)
        former = {new: old for old, new in self._evolution.renamed.items()}
        taken = sources_of(new_names, old_names, former)
        for name, old in unclear_names(new_names, old_names, former):
            self.unclear.append(_unclear(f"{path}.{name}".lstrip("."), old))
        place = {name: old_names.index(old) for name, old in taken.items()}
        sources: list[tuple[int | None, Any]] = []
        for name, part in zip(new_names, now.get("of", ()), strict=True):
            at = place.get(name)
            if at is not None:
                sources.append((at, self.conversion(before["of"][at], part, f"{path}.{name}")))
            elif name in self._evolution.defaults:
                sources.append((None, self._default(name, part, path)))
            else:
                self.differences.append(f"{path}.{name}".lstrip(".") + " is new: no default")
        same = [(at, None) for at in range(len(old_names))]
        if old_names == new_names and sources == same:
            return None

        def convert(row: Any) -> Any:
            if row is None:
                return None
            values = row._values
            fields = [
                deepcopy(of) if at is None else values[at] if of is None else of(values[at])
                for at, of in sources
            ]
            return row_of(new_names, fields, row._row_kind)

        return convert

    def _default(self, name: str, declared: TypeData, path: str) -> Any:
        found = self._evolution.defaults[name]
        fit = _fit_to(declared)
        if found is None or fit is None:
            return found
        try:
            return fit(found)
        except TypeMismatchError as error:
            of = f"{path}.{name}".lstrip(".")
            self.differences.append(f"{of} is new, and its default does not fit: {error.message}")
            return found

    def _add(self, path: str, before: TypeData, now: TypeData) -> None:
        was = f"was {type_text(before)}, is {type_text(now)} now"
        self.differences.append(f"{path.lstrip('.')} {was}" if path else was)


def _inner(data: TypeData) -> TypeData:
    while data["type"] == "EXTERNAL":
        (data,) = data["of"]
    return data


def _class_name(data: TypeData) -> str:
    """Return ``module:qualname`` of a type that names its class; empty if it does not."""
    return f"{data['module']}:{data['qualname']}" if data["type"] == CLASS else ""


def _unless_none(convert: Convert | None) -> Convert | None:
    if convert is None:
        return None
    made = convert
    return lambda value: None if value is None else made(value)


def _tuple_conversion(converts: list[Convert | None]) -> Convert:
    def convert(value: Any) -> Any:
        if value is None:
            return None
        parts = zip(converts, value, strict=True)
        return tuple(part if of is None else of(part) for of, part in parts)

    return convert


def _map_conversion(of_value: Convert) -> Convert:
    return lambda found: (
        None if found is None else {key: of_value(value) for key, value in found.items()}
    )


def _list_conversion(of_element: Convert) -> Convert:
    return lambda found: None if found is None else [*map(of_element, found)]


def _unclear(field: str, old: str) -> str:
    return f"{field} was {old} earlier, and the stored values have both names"


def _refusal(
    state: str,
    operator: str | None,
    before: StateKind,
    now: StateKind,
    differences: list[str],
    unclear: list[str] | None = None,
) -> CheckpointError:
    of = "" if operator is None else f" of operator {operator!r}"
    if before.version > now.version:
        said = "was written by a later version of the program"
    elif str(before) == str(now):
        said = "has objects of an earlier version of their class"
    else:
        said = f"was stored as {before}, and is {now} now"
    if state.startswith(RESERVED_NAMES):
        mend = (
            "restore the declared type of the stream, give a new field of its class a default,"
            " or give the operator another uid"
        )
    elif before.version > now.version:
        mend = "keep all calls of migrate() that the later version has"
    elif unclear:
        mend = (
            "remove these earlier names (renamed_from, evolve), and convert the values with"
            " migrate() if they are to move"
        )
    else:
        mend = (
            "give the new field a default, name the old field (evolve), or convert the values"
            " with migrate(); or give the state another name"
        )
    return CheckpointError(
        f"the state {state!r}{of} {said}",
        where={"differences": "; ".join([*differences, *(unclear or [])])},
        hint=f"{mend}; or start anew with headrace run --fresh",
    )
