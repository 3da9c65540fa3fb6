"""Decoding of declared types from JSON (see ``data.py``)."""

from __future__ import annotations

from collections.abc import Callable

from headrace.common._types.basic import (
    BasicType,
    BasicTypeInfo,
    InstantTypeInfo,
    PickledBytesTypeInfo,
)
from headrace.common._types.composite import ExternalTypeInfo, RowTypeInfo, TupleTypeInfo
from headrace.common._types.containers import (
    BasicArrayTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
)
from headrace.common._types.data import ANY, TypeData, type_text
from headrace.common._types.information import TypeInformation
from headrace.common._types.times import (
    DateTypeInfo,
    LocalTimeTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
)
from headrace.errors import PlanError


def type_from_data(data: TypeData) -> TypeInformation:
    """Return the type from the data that ``to_data`` returned.

    Raises:
        PlanError: ``Types`` does not make this type; it may be a class of the program.
    """
    name, parts = data["type"], [*map(type_from_data, data.get("of", ()))]
    if name == "ROW":
        return RowTypeInfo(parts, data.get("names"))
    if name == "TUPLE":
        return TupleTypeInfo(parts)
    make = _MAKERS.get(name)
    if make is None:
        raise PlanError(
            f"the type {type_text(data)} cannot be made from its description",
            hint="take the type from the program that declares it",
        )
    return make(*parts)


_MAKERS: dict[str, Callable[..., TypeInformation]] = {
    ANY: PickledBytesTypeInfo,
    "EXTERNAL": ExternalTypeInfo,
    "PRIMITIVE_ARRAY": PrimitiveArrayTypeInfo,
    "BASIC_ARRAY": BasicArrayTypeInfo,
    "OBJECT_ARRAY": ObjectArrayTypeInfo,
    "LIST": ListTypeInfo,
    "MAP": MapTypeInfo,
    "SQL_DATE": DateTypeInfo,
    "SQL_TIME": TimeTypeInfo,
    "SQL_TIMESTAMP": TimestampTypeInfo,
}


def _make_factory(made: TypeInformation) -> Callable[[], TypeInformation]:
    return lambda: made


_SIMPLE: list[TypeInformation] = [
    *(BasicTypeInfo(each) for each in BasicType if each is not BasicType.INSTANT),
    InstantTypeInfo(),
    *map(LocalTimeTypeInfo, LocalTimeTypeInfo.TimeType),
]
_MAKERS |= {str(made): _make_factory(made) for made in _SIMPLE}
