"""Which classes and functions stored bytes ask for."""

from __future__ import annotations

import pickletools
from collections.abc import Iterator
from typing import Any

PUBLIC = {"headrace.common.types.row_of"}
"""What of Headrace may be stored by name: it makes a ``Row``, a value of the user's."""


def globals_in(data: bytes) -> Iterator[str]:
    """The names that a pickle loads, and those in the pickles that lie in it as bytes."""
    pushed: list[Any] = []
    memo: dict[int, Any] = {}
    for opcode, argument, _ in pickletools.genops(data):
        if opcode.name == "GLOBAL":
            yield str(argument).replace(" ", ".")
        elif opcode.name == "STACK_GLOBAL":
            yield ".".join(map(str, pushed[-2:]))
        elif opcode.name == "MEMOIZE":
            memo[len(memo)] = pushed[-1]
            continue
        elif opcode.name in ("BINPUT", "LONG_BINPUT", "PUT"):
            memo[int(argument)] = pushed[-1]
            continue
        elif opcode.name in ("BINGET", "LONG_BINGET", "GET"):
            argument = memo[int(argument)]
        pushed.append(argument)
        if isinstance(argument, bytes | bytearray) and is_pickle(argument):
            yield from globals_in(bytes(argument))


def is_pickle(data: bytes | bytearray) -> bool:
    """True for bytes that begin as a pickle of protocol 4 or 5 does, and end as one."""
    return data[:2] in (b"\x80\x04", b"\x80\x05") and data[-1:] == b"."


def of_headrace(data: bytes) -> set[str]:
    """What a pickle loads of Headrace, public values aside."""
    return {name for name in globals_in(data) if name.startswith("headrace")} - PUBLIC
