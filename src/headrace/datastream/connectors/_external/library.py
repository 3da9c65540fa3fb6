"""The libraries that only some connectors need."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from headrace.errors import MissingExtraError


def library(module: str, extra: str, what: str) -> Any:
    """A module of the library that an extra of Headrace brings.

    ``what`` needs it: the subject of the error's sentence.

    Raises:
        MissingExtraError: it is not installed, or lacks a part of its own.
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingExtraError(
            f"{what} needs {package}, which is not installed here",
            where={"reason": str(error).strip().splitlines()[0]},
            hint=f"pip install 'headrace[{extra}]' in the program's environment and on the workers",
        ) from None
