"""What a process function yields: values for the main output, (tag, value) for a side output."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from headrace.common.output_tag import OutputTag
from headrace.runtime.chain import Outputs
from headrace.runtime.exchange import Push

Emit = Callable[[Iterable[Any], int | None], None]


def emitter(outputs: Outputs) -> Emit:
    """A function that sends what was yielded on its way, one by one, with one timestamp."""
    main, side_of = outputs.main, outputs.side
    sides: dict[str, Push] = {}

    def emit(results: Iterable[Any], timestamp: int | None) -> None:
        for result in results:
            if type(result) is tuple and len(result) == 2 and isinstance(result[0], OutputTag):
                tag_id = result[0].tag_id
                side = sides.get(tag_id)
                if side is None:
                    side = sides[tag_id] = side_of(tag_id)
                side(result[1], timestamp)
            else:
                main(result, timestamp)

    return emit
