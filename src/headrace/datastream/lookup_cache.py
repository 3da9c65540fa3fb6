"""``LookupCache``: a cache in front of an asynchronous function; PyFlink has none for streams."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from headrace.common._arguments import require_positive
from headrace.common.time import TimeWithUnit, milliseconds_with_unit
from headrace.errors import PlanError

__all__ = ["LookupCache"]


@dataclass(frozen=True, kw_only=True)
class LookupCache:
    """Caches results of lookups by key; the options are those of Flink's partial lookup cache.

    Fields:
        key: returns the key of a record. The function is then called with the key instead of the
            record, so a cached result depends on the key alone. Without ``key`` the record itself
            is the key. Keys must be hashable.
        join: returns the list of results for a record and the results of its lookup. Without it
            the results of the lookup are emitted.
        max_rows: the maximum number of keys. The least recently used one is removed first. None:
            no limit.
        expire_after_write: a result is looked up again after this time. None: never.
        expire_after_access: a result that was not used for this time is removed. None: never.
        cache_missing_key: also cache empty results (an empty list).

    Each worker process has a cache for each task of the operator. It is not part of a checkpoint.
    Records that need the same key at the same time cause one lookup. Exceptions are not cached.
    """

    key: Callable[[Any], Any] | None = None
    join: Callable[[Any, list[Any]], Iterable[Any]] | None = None
    max_rows: int | None = None
    expire_after_write: TimeWithUnit | None = None
    expire_after_access: TimeWithUnit | None = None
    cache_missing_key: bool = True

    def __post_init__(self) -> None:
        if self.max_rows is not None:
            require_positive(self.max_rows, "max_rows")
        for name in ("expire_after_write", "expire_after_access"):
            age = getattr(self, name)
            if age is not None:
                milliseconds_with_unit(age, name, at_least=1)
        for name in ("key", "join"):
            function = getattr(self, name)
            if function is not None and not callable(function):
                raise PlanError(f"{name} of a LookupCache must be a function, not {function!r}")
