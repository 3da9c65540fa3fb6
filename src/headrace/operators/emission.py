"""What a process function yields: values for the main output, (tag, value) for a side output."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from headrace.common.output_tag import OutputTag
from headrace.runtime.chain.loops import Push
from headrace.runtime.operator import Outputs

Emit = Callable[[Iterable[Any], int | None], None]


def emitter(outputs: Outputs) -> Emit:
    """A function that sends what was yielded on its way, one by one, with one timestamp."""
    main, to_side = outputs.main, side_sender(outputs)

    def emit(results: Iterable[Any], timestamp: int | None) -> None:
        for result in results:
            if type(result) is tuple and len(result) == 2 and isinstance(result[0], OutputTag):
                to_side(result, timestamp)
            else:
                main(result, timestamp)

    return emit


def side_sender(outputs: Outputs) -> Push:
    """A function that sends a pair (tag, value) to the side output of its tag."""
    side_of = outputs.side
    sides: dict[str, Push] = {}

    def to_side(result: tuple[OutputTag, Any], timestamp: int | None) -> None:
        tag, value = result
        side = sides.get(tag.tag_id)
        if side is None:
            side = sides[tag.tag_id] = side_of(tag.tag_id)
        side(value, timestamp)

    return to_side
