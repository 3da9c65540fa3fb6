"""``TypeInformation``, the base of declared types, and helpers to convert nested values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from headrace.common._types.data import CLASS, TypeData, type_data, type_text
from headrace.common._unsupported import unsupported_method
from headrace.errors import PlanError, TypeMismatchError

Coercer = Callable[[Any], Any]
"""Checks a value against a declared type and converts it; see ``TypeInformation.coercer``."""

_SHOWN_CHARS = 120


class TypeInformation(ABC):
    """A declared type: checks values, converts them, and formats them as Flink does.

    Two types are equal when their classes and arguments are equal.
    """

    get_java_type_info = unsupported_method("Headrace has no Flink JVM")

    @abstractmethod
    def _arguments(self) -> tuple[Any, ...]:
        """Return the hashable arguments of the declaration: names, and types of elements."""

    def to_data(self) -> TypeData:
        """Return the type as JSON, see ``data.py``; ``type_from_data`` is the inverse."""
        kind = type(self)
        # A user's class may override __str__ to show its arguments.
        text = kind.__qualname__ if kind.__str__ is TypeInformation.__str__ else str(self)
        return type_data(CLASS, module=kind.__module__, qualname=kind.__qualname__, text=text)

    @staticmethod
    def stored_conversion(before: TypeData, now: TypeData) -> Coercer | None:
        """Return a function that converts values stored with another type of this class.

        ``before`` and ``now`` are what ``to_data`` returned; the class may have had another name
        before. The result is None if values stay as they are.

        Raises:
            TypeMismatchError: they cannot be converted.
        """
        was, is_now = type_text(before), type_text(now)
        if was != is_now and all(before[part] == now[part] for part in ("module", "qualname")):
            raise TypeMismatchError(f"was {was}, is {is_now} now")
        return None

    def __str__(self) -> str:
        """The type as in a program, without ``Types.``: ``LIST<INT>``."""
        return type_text(self.to_data())

    @abstractmethod
    def coercer(self) -> Coercer | None:
        """Return a function that converts values as ``coerce`` does; None if values need no check.

        The function returns None for None, may return its argument itself, and raises
        ``TypeMismatchError`` for a value that does not fit.
        """

    def coerce(self, value: Any) -> Any:
        """Convert a value to what the next operator receives from a stream of this type.

        The result is what PyFlink's serializers would return: for ROW, tuples become rows; a
        FLOAT is rounded to 32 bits; and so on.

        Raises:
            TypeMismatchError: the value does not fit; ``where["field"]`` is the path to the
                field that does not, such as ``f1.name``.
        """
        coerce = self.coercer()
        return value if coerce is None else coerce(value)

    def format(self, value: Any) -> str:
        """Return the value as Flink's print sink shows it; None is ``null``."""
        return "null" if value is None else self._format(value)

    def _format(self, value: Any) -> str:
        return str(value)

    def need_conversion(self) -> bool:
        """Return whether ``to_internal_type`` changes values."""
        return False

    def to_internal_type(self, obj: Any) -> Any:
        """Convert a value to the form that PyFlink's pickler sends.

        Rows are tuples with the row kind first, dates are days, times and timestamps are
        microseconds (UTC).
        """
        return obj

    def from_internal_type(self, obj: Any) -> Any:
        """Convert a value back from the internal form."""
        return obj

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TypeInformation):
            return NotImplemented
        return type(self) is type(other) and self._arguments() == other._arguments()

    def __hash__(self) -> int:
        return hash((type(self).__name__, self._arguments()))

    def __repr__(self) -> str:
        return str(self)


def require_types(types: Iterable[TypeInformation], owner: str) -> tuple[TypeInformation, ...]:
    """Check that all items are types, and return them as a tuple.

    ``owner`` names the type that contains them in the error.

    Raises:
        PlanError: an item is not a ``TypeInformation``.
    """
    result = tuple(types)
    for candidate in result:
        if not isinstance(candidate, TypeInformation):
            raise PlanError(
                f"{owner} is declared with {candidate!r}, which is not a type",
                hint="call the function of the type, as in Types.INT()",
            )
    return result


def mismatch(value: Any, declared: TypeInformation, why: str = "") -> TypeMismatchError:
    """Return the error for a value that does not fit a type; its path is still empty."""
    shown = repr(value)
    if len(shown) > _SHOWN_CHARS:
        shown = shown[:_SHOWN_CHARS] + "…"
    reason = why or f"it is a {type(value).__name__}"
    return TypeMismatchError(
        f"a value does not fit its declared type {declared}: {reason}",
        where={"value": shown, "declared": str(declared)},
    )


def with_path_step(error: TypeMismatchError, step: str) -> TypeMismatchError:
    """Return the error with ``step``, a field or ``[index]``, put before its path."""
    inner = error.where.get("field", "")
    joint = "." if inner and not inner.startswith("[") else ""
    return TypeMismatchError(
        error.message, where={**error.where, "field": f"{step}{joint}{inner}"}, hint=error.hint
    )


def coerce_each(
    values: Sequence[Any], coercers: Sequence[Coercer | None], path_steps: Sequence[str]
) -> list[Any]:
    """Convert each value with the coercer at its position.

    Raises:
        TypeMismatchError: a value does not fit; the path in the error begins with its step.
    """
    try:
        return [
            value if coerce is None else coerce(value)
            for value, coerce in zip(values, coercers, strict=True)
        ]
    except TypeMismatchError:
        # The loop above counts no index, to be fast. Coercers are pure, so run them again.
        for value, coerce, step in zip(values, coercers, path_steps, strict=True):
            if coerce is not None:
                _coerce_at(coerce, value, step)
        raise


def coerce_all(values: Sequence[Any], coerce: Coercer | None) -> list[Any]:
    """Convert all values with one coercer; steps are ``[0]``, ``[1]``, … Without a coercer a
    list is returned as it is.
    """
    if coerce is None:
        return values if isinstance(values, list) else list(values)
    try:
        return [coerce(value) for value in values]
    except TypeMismatchError:
        for index, value in enumerate(values):
            _coerce_at(coerce, value, f"[{index}]")
        raise


def _coerce_at(coerce: Coercer, value: Any, step: str) -> None:
    try:
        coerce(value)
    except TypeMismatchError as error:
        raise with_path_step(error, step) from None
