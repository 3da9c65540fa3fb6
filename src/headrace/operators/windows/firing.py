"""Computes and emits the results of a window that fires, for one key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.common._windows import TimeWindow
from headrace.operators.emission import EXPECTED_RESULT_TYPES, check_results, emitter
from headrace.operators.inspection import overrides
from headrace.operators.windows.contents import Contents
from headrace.operators.windows.contexts import FunctionContext
from headrace.operators.windows.folding import Folding
from headrace.runtime.operator import NodeProgram, Outputs
from headrace.runtime.record_copies import copy_record
from headrace.runtime.state.handles import KeyContext


class WindowFiring:
    """Calls the window function, if there is one, and emits the results.

    ``folding`` None: the contents are the records themselves. ``copies``: whether the window
    function gets a copy of the contents, as they are needed again and it may change its input.
    """

    def __init__(
        self,
        contents: Contents,
        folding: Folding | None,
        key_context: KeyContext,
        context: FunctionContext,
        copies: bool = False,
    ) -> None:
        self._copies = copies
        call = contents.window_function
        self._window_function = None if call is None else call.as_callable()
        self._result = None if folding is None else folding.result
        self._key_context, self._context = key_context, context
        self._clear_function: Callable[[Any], None] | None = None
        if call is not None and call.with_context:
            target = call.function.target
            self._clear_function = target.clear if overrides(type(target), "clear") else None

    def bind(self, outputs: Outputs) -> None:
        """Set the outputs."""
        self._main, self._emit = outputs.main, emitter(outputs)

    @property
    def has_function(self) -> bool:
        """Whether there is a window function."""
        return self._window_function is not None

    @property
    def has_clear(self) -> bool:
        """Whether the window function has a ``clear`` method."""
        return self._clear_function is not None

    def fire_all(self, node: NodeProgram, window: TimeWindow, items: Any) -> None:
        """Emit the results of a window for several keys: pairs of key and contents (None: skip).

        ``node``: the operator that errors name.
        """
        moment, main, key_context = window.max_timestamp(), self._main, self._key_context
        if self._window_function is None:
            result = self._result
            assert result is not None, "records themselves go to a window function"
            for key, accumulator in items:
                if accumulator is not None and (value := result(accumulator)) is not None:
                    key_context.key = key
                    main(value, moment)
            return
        for key, accumulator in items:
            if accumulator is not None:
                key_context.enter(key)
                self.fire_window(window, accumulator)

    def fire_window(self, window: TimeWindow, accumulator: Any) -> None:
        """Emit the results of a window for the current key."""
        if self._copies and self._window_function is not None:
            accumulator = copy_record(accumulator)
        result = self._result
        inputs = [*accumulator] if result is None else [result(accumulator)]
        if result is None or inputs[0] is not None:
            self.emit(window, inputs, window.max_timestamp())

    def emit(self, window: Any, inputs: Any, moment: int | None) -> None:
        """Emit the results for the window function's inputs, with a timestamp (ms)."""
        if self._window_function is None:
            for value in inputs:
                self._main(value, moment)
            return
        self._context.current_window = window
        results = self._window_function(self._key_context.user_key(), window, self._context, inputs)
        if results is not None:
            if type(results) not in EXPECTED_RESULT_TYPES:
                check_results(results)
            self._emit(results, moment)

    def clear_window(self, window: Any) -> None:
        """Call the window function's ``clear`` for a window of the current key, if it has one."""
        if self._clear_function is not None:
            self._context.current_window = window
            self._clear_function(self._context)
