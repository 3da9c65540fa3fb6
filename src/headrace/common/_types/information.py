"""What a declared type does: check and shape values, convert them, show them as Flink would."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from headrace.common._types.data import CLASS, TypeData, type_data, type_text
from headrace.common._unsupported import unsupported_method
from headrace.errors import PlanError, TypeMismatchError

Coercer = Callable[[Any], Any]

_SHOWN_CHARS = 120


class TypeInformation(ABC):
    """A declared type. Types are values: compared, hashed and pickled by what they hold."""

    get_java_type_info = unsupported_method("Headrace has no Flink JVM")

    @abstractmethod
    def _arguments(self) -> tuple[Any, ...]:
        """All that distinguishes this type from others of its class; hashable."""

    def to_data(self) -> TypeData:
        """The type as plain data, see ``data.py``; ``type_from_data`` gives it back."""
        kind = type(self)
        # Whoever writes a type of their own says with its text what distinguishes it.
        text = kind.__qualname__ if kind.__str__ is TypeInformation.__str__ else str(self)
        return type_data(CLASS, module=kind.__module__, qualname=kind.__qualname__, text=text)

    def __str__(self) -> str:
        """The type as it would be written, without ``Types.``: ``LIST<INT>``."""
        return type_text(self.to_data())

    @abstractmethod
    def coercer(self) -> Coercer | None:
        """A function from a value to what the next operator receives; None: values pass as is.

        The function lets None through, raises ``TypeMismatchError`` for what does not fit, and
        may give back its argument itself.
        """

    def coerce(self, value: Any) -> Any:
        """What a record looks like to the next operator once declared with this type.

        As PyFlink's serializers would leave it: tuples become rows for ROW, 32 bits are left of
        a FLOAT, and so on.

        Raises:
            TypeMismatchError: the value does not fit; ``where["field"]`` is the path to the part
                that does not, as in ``f1.name``.
        """
        coerce = self.coercer()
        return value if coerce is None else coerce(value)

    def format(self, value: Any) -> str:
        """How Flink's print sink shows a value of this type; None is ``null``."""
        return "null" if value is None else self._format(value)

    def _format(self, value: Any) -> str:
        return str(value)

    def need_conversion(self) -> bool:
        """Whether ``to_internal_type`` changes values."""
        return False

    def to_internal_type(self, obj: Any) -> Any:
        """The value as PyFlink's pickler sends it: rows as tuples with the kind first, dates as
        days, times and timestamps as microseconds (UTC).
        """
        return obj

    def from_internal_type(self, obj: Any) -> Any:
        """The value that ``to_internal_type`` was given, or an equal one."""
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
    """The given types as a tuple.

    Raises:
        PlanError: one of them is no ``TypeInformation``.
    """
    result = tuple(types)
    for candidate in result:
        if not isinstance(candidate, TypeInformation):
            raise PlanError(
                f"{owner} is declared with {candidate!r}, which is no type",
                hint="call the type, as in Types.INT()",
            )
    return result


def mismatch(value: Any, declared: TypeInformation, why: str = "") -> TypeMismatchError:
    """The error for a value that does not fit, not yet placed inside an outer value."""
    shown = repr(value)
    if len(shown) > _SHOWN_CHARS:
        shown = shown[:_SHOWN_CHARS] + "…"
    reason = why or f"it is a {type(value).__name__}"
    return TypeMismatchError(
        f"a value does not fit its declared type {declared}: {reason}",
        where={"value": shown, "declared": str(declared)},
    )


def with_path_step(error: TypeMismatchError, step: str) -> TypeMismatchError:
    """The same error, seen from one value further out: ``step`` is a field or ``[index]``."""
    inner = error.where.get("field", "")
    joint = "." if inner and not inner.startswith("[") else ""
    return TypeMismatchError(
        error.message, where={**error.where, "field": f"{step}{joint}{inner}"}, hint=error.hint
    )


def coerce_each(
    values: Sequence[Any], coercers: Sequence[Coercer | None], path_steps: Sequence[str]
) -> list[Any]:
    """Each value through the function at its place.

    Raises:
        TypeMismatchError: naming the step at which it happened.
    """
    try:
        return [
            value if coerce is None else coerce(value)
            for value, coerce in zip(values, coercers, strict=True)
        ]
    except TypeMismatchError:
        # The loop above keeps no index, to be fast; coercers are pure, so look again.
        for value, coerce, step in zip(values, coercers, path_steps, strict=True):
            if coerce is not None:
                _coerce_at(coerce, value, step)
        raise


def coerce_all(values: Sequence[Any], coerce: Coercer | None) -> list[Any]:
    """Each value through one function; steps are ``[0]``, ``[1]``, …; a list with None as is."""
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
