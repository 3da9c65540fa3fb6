"""Every public name of pyflink.table is here with its parameters, or is refused with a reason."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import headrace.table
from headrace.cli.check.catalogue import text_of
from headrace.common._unsupported import is_unsupported, reason_of


def names() -> Iterator[tuple[str, str, list[str] | None]]:
    """Modules, names, and the parameters of functions."""
    for line in text_of("pyflink_table_names.txt").splitlines():
        if not line.startswith("#"):
            module, _, rest = line.partition(" ")
            name, paren, parameters = rest.partition("(")
            given = [each for each in parameters.rstrip(")").split(", ") if each]
            yield module, name, given if paren else None


def found(module: str, name: str) -> Any:
    here: Any = import_module(f"headrace.{module}")
    for part in name.split("."):
        if inspect.ismodule(here):  # some names come with the first use
            here = getattr(here, part)
        else:
            here = inspect.getattr_static(here, "__init__" if part == "init" else part)
        if is_unsupported(here):
            return here
    return here


def problem(module: str, name: str, parameters: list[str] | None) -> str | None:
    """What is wrong with a name of Flink's."""
    try:
        here = found(module, name)
    except (AttributeError, ImportError) as error:
        return f"missing: {error}"
    if is_unsupported(here):
        return None if len(reason_of(here)) > 10 else "refused without a reason"
    if isinstance(here, staticmethod | classmethod):
        here = here.__func__
    if parameters is None or isinstance(here, property) or not inspect.isfunction(here):
        return None
    ours = [each for each in inspect.signature(here).parameters if each not in ("self", "cls")]
    wanted = [each.strip("*=") for each in parameters]
    return None if ours[: len(parameters)] == wanted else f"{ours}, not {wanted}"


def test_names_of_flink_are_here() -> None:
    listed = [*names()]
    assert len(listed) > 1_200
    assert {f"{each[0]}.{each[1]}": wrong for each in listed if (wrong := problem(*each))} == {}


def test_all_names_of_the_package_are_flinks() -> None:
    listed = {name for _, name, _ in names()} | {"Row", "RowKind", "ListView", "MapView"}
    assert set(headrace.table.__all__) <= listed
    for name in headrace.table.__all__:
        assert getattr(headrace.table, name) is not None
