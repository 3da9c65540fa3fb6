"""Functions of catalogs: objects that a program registered, and names of modules' objects."""

from __future__ import annotations

import importlib
from typing import Any

from headrace.errors import SqlValidationError
from headrace.sql.catalog.errors import did_you_mean
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
    path, _, name = identifier.rpartition(".")
    hint = "CREATE FUNCTION f AS 'module.function', where the module has what udf() returned"
    try:
        module = importlib.import_module(path)
    except (ImportError, ValueError) as error:
        raise SqlValidationError(
            f"the function {identifier!r} cannot be imported: {error}", hint=hint
        ) from error
    found: Any = getattr(module, name, None)
    if found is None:
        wrappers = [k for k, v in vars(module).items() if isinstance(v, UserDefinedFunctionWrapper)]
        raise SqlValidationError(
            f"the module {path!r} has no function {name!r}",
            where={"file": str(module.__file__)},
            hint=did_you_mean(name, wrappers) or hint,
        )
    if not isinstance(found, UserDefinedFunctionWrapper):
        raise SqlValidationError(
            f"{identifier!r} is a {type(found).__name__}, and not what udf() or udtf() returns",
            hint=hint,
        )
    return found
