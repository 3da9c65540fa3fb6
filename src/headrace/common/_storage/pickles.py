"""Unpickling: of a job's own state anything, of what others may have written only data.

A pickle can call whatever can be imported. While a savepoint is read, only these are allowed:
values of Python's own types, and dataclasses, enums and named tuples.
"""

from __future__ import annotations

import dataclasses
import importlib
import io
import pickle
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum
from functools import lru_cache, partial, reduce
from typing import Any
from zoneinfo import ZoneInfo

from headrace.errors import CheckpointError

_ALLOWED = {
    "_codecs": "encode",
    "_datetime": "date datetime time timedelta timezone",
    "array": "_array_reconstructor array",
    "builtins": "bool bytearray bytes complex dict float frozenset int list range set slice str"
    " tuple",
    "collections": "Counter OrderedDict defaultdict deque",
    "datetime": "date datetime time timedelta timezone",
    "decimal": "Decimal",
    "fractions": "Fraction",
    "headrace.common.types": "Row RowKind row_of",
    "ipaddress": "IPv4Address IPv4Interface IPv4Network IPv6Address IPv6Interface IPv6Network",
    "numpy": "dtype ndarray",
    "numpy._core.multiarray": "_reconstruct scalar",
    "numpy._core.numeric": "_frombuffer",
    "numpy.core.multiarray": "_reconstruct scalar",
    "types": "SimpleNamespace",
    "uuid": "SafeUUID UUID",
    "zoneinfo": "ZoneInfo",
}
_BY_NAME = {(module, name) for module, names in _ALLOWED.items() for name in names.split()}

_only_data: ContextVar[bool] = ContextVar("only_data", default=False)


@contextmanager
def only_data(only: bool = True) -> Iterator[None]:
    """Allow nothing but data in what ``loads`` reads meanwhile, if ``only``."""
    token = _only_data.set(only)
    try:
        yield
    finally:
        _only_data.reset(token)


_stand_ins: ContextVar[bool] = ContextVar("stand_ins", default=False)


@contextmanager
def stand_ins() -> Iterator[None]:
    """Let ``loads`` read objects of classes that cannot be imported: each is a ``StandIn``.

    Meanwhile they can be pickled as what they are, for other readers within ``stand_ins``.
    """
    token = _stand_ins.set(True)
    try:
        yield
    finally:
        _stand_ins.reset(token)


class StandIn:
    """Shows an object whose class cannot be imported here; subclasses have the class's name."""

    _args: tuple[Any, ...]
    _fields: Any = None

    def __new__(cls, *args: Any) -> StandIn:
        made = object.__new__(cls)
        made._args = args
        return made

    def __init__(self, *_: Any) -> None:
        pass

    def __setstate__(self, state: Any) -> None:
        self._fields = state

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StandIn):
            return NotImplemented
        return self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash((type(self).__module__, type(self).__qualname__))

    def _parts(self) -> tuple[Any, ...]:
        cls = type(self)
        return cls.__module__, cls.__qualname__, self._args, self._fields

    def __repr__(self) -> str:
        # Fields by name; of a frozen dataclass with slots the values alone; of others both parts.
        shown = [repr(value) for value in self._args]
        parts = self._fields if isinstance(self._fields, tuple) else (self._fields,)
        for part in parts:
            if isinstance(part, dict):
                shown += [f"{name}={value!r}" for name, value in part.items()]
            elif isinstance(part, list):
                shown += [repr(value) for value in part]
        return f"{type(self).__qualname__}({', '.join(shown)})"

    def __reduce__(self) -> Any:
        # Only for those who show it: whoever takes it for the object itself must have its class.
        if not _stand_ins.get():
            raise pickle.PicklingError(f"the class of {self!r} cannot be imported")
        cls = type(self)
        return _stand_in_of, (cls.__module__, cls.__qualname__, self._args), self._fields


def _stand_in_of(module: str, name: str, args: tuple[Any, ...]) -> StandIn:
    if not _stand_ins.get():
        raise pickle.UnpicklingError(f"the class {module}.{name} cannot be imported")
    return _stand_in(module, name)(*args)


FindClass = Callable[[str, str], Any]
"""Returns what stands for a class (module, qualname), or None."""


def loads(data: bytes, find: FindClass | None = None) -> Any:
    """Return the pickled value.

    ``find``: whom to ask for classes first.

    Raises:
        CheckpointError: it has more than data, where only data is allowed.
    """
    if find is None and not _only_data.get() and not _stand_ins.get():
        return pickle.loads(data)
    return _Unpickler(io.BytesIO(data), find, _only_data.get()).load()


def loads_of_state() -> Callable[[bytes], Any]:
    """Return what reads a job's own state: ``pickle.loads``, but ``loads`` within ``stand_ins``."""
    return loads if _stand_ins.get() else pickle.loads


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, find: FindClass | None, only: bool) -> None:
        super().__init__(file)
        self._find, self._only = find, only

    def find_class(self, module: str, name: str) -> Any:
        found = None if self._find is None else self._find(module, name)
        if found is not None:
            return found
        if _stand_ins.get():
            if (module, name) == (__name__, _stand_in_of.__name__):
                return _stand_in_of
            if (module, name) == ("builtins", "getattr"):
                return partial(_attribute_or_stand_in, _attribute if self._only else getattr)
        try:
            return _data_class(module, name) if self._only else super().find_class(module, name)
        except (ImportError, AttributeError):
            if not _stand_ins.get():
                raise
            return _stand_in(module, name)


@lru_cache(maxsize=256)
def _stand_in(module: str, name: str) -> type[StandIn]:
    return type("StandIn", (StandIn,), {"__module__": module, "__qualname__": name})


def _attribute_or_stand_in(attribute: Callable[[Any, str], Any], of: Any, name: str) -> Any:
    """Return a stand-in for a member of an enum whose class cannot be imported.

    Python 3.11 before 3.11.4 pickles members by name, others do by value.
    """
    if isinstance(of, type) and issubclass(of, StandIn):
        return of(name)
    return attribute(of, name)


def _attribute(of: Any, name: str) -> Any:
    """Stands for ``getattr``, with which members of enums and time zones are pickled."""
    is_member = isinstance(of, type) and issubclass(of, Enum) and name in of.__members__
    if is_member or (of is ZoneInfo and name == "_unpickle"):
        return getattr(of, name)
    raise _refusal(f"getattr(…, {name!r})")


@lru_cache(maxsize=256)
def _data_class(module: str, name: str) -> Any:
    if (module, name) == ("builtins", "getattr"):
        return _attribute
    # A module of Python's own may do anything when it is imported, or have any class.
    if (module, name) in _BY_NAME:
        return _resolve(module, name)
    found = None
    if module.partition(".")[0] not in sys.stdlib_module_names:
        found = _resolve(module, name)
    if not isinstance(found, type) or not _holds_data(found):
        raise _refusal(f"{module}.{name}")
    return found


def _refusal(what: str) -> CheckpointError:
    return CheckpointError(
        f"{what} is pickled in the savepoint, and can run code",
        hint="only dataclasses, enums and named tuples are read; if you trust who wrote the"
        " savepoint, give --allow-pickles (headrace.restore.allow-pickles: true)",
    )


def _resolve(module: str, name: str) -> Any:
    return reduce(getattr, name.split("."), importlib.import_module(module))


def _holds_data(cls: type) -> bool:
    if issubclass(cls, Enum):
        return True
    return dataclasses.is_dataclass(cls) or (issubclass(cls, tuple) and hasattr(cls, "_fields"))
