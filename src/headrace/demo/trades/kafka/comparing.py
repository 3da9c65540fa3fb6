"""Compares the final documents of two runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Difference:
    """A root whose final documents differ; a run without a document of it has None."""

    root: str
    first: Mapping[str, Any] | None
    second: Mapping[str, Any] | None

    @property
    def differing_fields(self) -> tuple[str, ...]:
        """The differing fields: ``version``, ``orders.GAMMA:7.status``; empty if one is None."""
        if self.first is None or self.second is None:
            return ()
        found = _list_differing(self.first, self.second, leaving="orders")
        mine, theirs = _by_id(self.first), _by_id(self.second)
        for order_id in [*mine, *(each for each in theirs if each not in mine)]:
            ours, others = mine.get(order_id), theirs.get(order_id)
            if ours is None or others is None:
                found.append(f"orders.{order_id}")
            else:
                found += [f"orders.{order_id}.{name}" for name in _list_differing(ours, others)]
        if not found:
            found.append("orders")  # the same orders, sorted differently
        return tuple(found)

    @property
    def fields(self) -> tuple[str, ...]:
        """The same without ids: ``orders.status``; ``document`` if a document is None."""
        if self.first is None or self.second is None:
            return ("document",)
        names = [field.split(".") for field in self.differing_fields]
        short = [".".join([parts[0], *parts[2:]]) for parts in names]
        return tuple(dict.fromkeys(short))


def differences(
    first: Mapping[bytes, bytes],
    second: Mapping[bytes, bytes],
    read: Callable[[bytes], dict[str, Any]],
) -> list[Difference]:
    """Return the roots whose final documents differ, sorted. ``read`` decodes a document."""
    found = []
    for root in sorted(first.keys() | second.keys()):
        mine, theirs = first.get(root), second.get(root)
        if mine == theirs:
            continue
        difference = Difference(
            root.decode(),
            None if mine is None else read(mine),
            None if theirs is None else read(theirs),
        )
        # Different bytes may be equal documents, written with other schema ids.
        if difference.first != difference.second:
            found.append(difference)
    return found


def _list_differing(
    first: Mapping[str, Any], second: Mapping[str, Any], leaving: str | None = None
) -> list[str]:
    names = [*first, *(name for name in second if name not in first)]
    return [name for name in names if name != leaving and first.get(name) != second.get(name)]


def _by_id(document: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {order["order_id"]: order for order in document["orders"]}
