"""The name of a side output."""

from __future__ import annotations

from typing import Any


class OutputTag:
    """Names a side output. Tags are equal when their ids are equal.

    Emit with ``yield tag, value``; read with ``stream.get_side_output(tag)``. ``type_info``
    declares the type of the output's records.
    """

    __slots__ = ("tag_id", "type_info")

    def __init__(self, tag_id: str, type_info: Any | None = None) -> None:
        if not tag_id:
            raise ValueError("an OutputTag needs a non-empty id")
        self.tag_id = tag_id
        self.type_info = type_info

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OutputTag) and other.tag_id == self.tag_id

    def __hash__(self) -> int:
        return hash(("OutputTag", self.tag_id))

    def __repr__(self) -> str:
        return f"OutputTag({self.tag_id!r})"
