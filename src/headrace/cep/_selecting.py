"""Makes a ``PatternProcessFunction`` of the functions of ``select`` and ``flat_select``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headrace.cep.functions import PatternProcessFunction, TimedOutPartialMatchHandler
from headrace.common._output_tag import OutputTag
from headrace.operators.patterns.operator import MatchContext
from headrace.runtime.user_function import UserFunction


class Selecting(PatternProcessFunction):
    """Calls a function of a match that returns one result, or with ``flat`` several."""

    def __init__(self, function: UserFunction, flat: bool) -> None:
        self._function, self._flat = function, flat

    def open(self, runtime_context: Any) -> None:
        _of_each(self._objects(), "open", runtime_context)

    def close(self) -> None:
        _of_each(self._objects(), "close")

    def _objects(self) -> list[Any]:
        return [self._function.target]

    def process_match(self, match: dict[str, list[Any]], ctx: MatchContext) -> Any:
        result = self._function.as_callable()(match)
        return result if self._flat else (result,)


class SelectingTimeouts(Selecting, TimedOutPartialMatchHandler):
    """Calls another function for partial matches that time out."""

    def __init__(
        self, function: UserFunction, flat: bool, tag: OutputTag, timeout: UserFunction
    ) -> None:
        super().__init__(function, flat)
        self._tag, self._timeout = tag, timeout

    def _objects(self) -> list[Any]:
        return [self._function.target, self._timeout.target]

    def process_timed_out_match(
        self, match: dict[str, list[Any]], ctx: MatchContext
    ) -> Iterator[Any]:
        results = self._timeout.as_callable()(match, ctx.timestamp())
        for result in (results or ()) if self._flat else (results,):
            yield self._tag, result


def _of_each(objects: list[Any], method: str, *arguments: Any) -> None:
    for each in objects:
        found = getattr(each, method, None)
        if callable(found):
            found(*arguments)
