"""A cache in front of an asynchronous function; PyFlink's DataStream API has none."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from headrace.common.arguments import positive
from headrace.common.time import Duration, Time, milliseconds_with_unit
from headrace.errors import PlanError

__all__ = ["LookupCache"]

Age = Time | Duration | timedelta


@dataclass(frozen=True, kw_only=True)
class LookupCache:
    """Keeps what lookups gave, by key; the options are those of Flink's partial lookup cache.

    Fields:
        key: gives the key of a record: the function is called with it in place of the record, so
            that nothing but the key can be in what is kept. Without ``key`` the record is its key.
            Keys must be hashable.
        join: gives the results for a record and what was found for its key; a list. Without it
            what was found is emitted.
        max_rows: so many keys are kept; the one not asked for the longest leaves first. None: all.
        expire_after_write: found things are looked up again after this time. None: never.
        expire_after_access: those that nobody asked for during this time are dropped. None: never.
        cache_missing_key: also keep that nothing was found (an empty list).

    Each worker process has a cache for each task of the operator. It is not part of a checkpoint.
    Records that ask for one key at the same time cause one lookup. Exceptions are not kept.
    """

    key: Callable[[Any], Any] | None = None
    join: Callable[[Any, list[Any]], Iterable[Any]] | None = None
    max_rows: int | None = None
    expire_after_write: Age | None = None
    expire_after_access: Age | None = None
    cache_missing_key: bool = True

    def __post_init__(self) -> None:
        if self.max_rows is not None:
            positive(self.max_rows, "max_rows")
        for name in ("expire_after_write", "expire_after_access"):
            age = getattr(self, name)
            if age is not None:
                milliseconds_with_unit(age, name, at_least=1)
        for name in ("key", "join"):
            function = getattr(self, name)
            if function is not None and not callable(function):
                raise PlanError(f"{name} of a LookupCache must be a function, not {function!r}")
