"""Functions of catalogs: objects that a program registered, and names of modules' objects."""

from __future__ import annotations

import importlib
from typing import Any

from headrace.errors import SqlValidationError
from headrace.sql.catalog.objects import CatalogFunction
from headrace.sql.python_function import PythonFunction
from headrace.table._functions.wrappers import UserDefinedFunctionWrapper


def definition_of(function: CatalogFunction) -> PythonFunction:
    """Return a function of a catalog as plans have it.

    Raises:
        SqlValidationError: its identifier names no function.
    """
    if isinstance(function.implementation, UserDefinedFunctionWrapper):
        return function.implementation._definition()
    return wrapper_of(function.identifier)._definition()


def wrapper_of(identifier: str) -> UserDefinedFunctionWrapper:
    """Return the object of a name such as ``module.function``."""
    module, _, name = identifier.rpartition(".")
    hint = "CREATE FUNCTION f AS 'module.function', where the module has what udf() returned"
    try:
        found: Any = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise SqlValidationError(
            f"the function {identifier!r} cannot be imported: {error}", hint=hint
        ) from error
    if not isinstance(found, UserDefinedFunctionWrapper):
        raise SqlValidationError(
            f"{identifier!r} is a {type(found).__name__}, and not what udf() or udtf() returns",
            hint=hint,
        )
    return found
