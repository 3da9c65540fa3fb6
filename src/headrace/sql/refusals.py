"""What is not supported is refused by its name, when a statement is planned."""

from __future__ import annotations

from typing import NoReturn

from headrace.errors import UnsupportedError


def refuse(what: str, where: str = "") -> NoReturn:
    """Raise the error for a part of the language that is not supported."""
    raise UnsupportedError(
        f"{what} is not supported in SQL", where={"in": where} if where else None
    )
