"""Every public name of pyflink.table is here with its parameters, or is refused with a reason."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

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
        here = inspect.getattr_static(here, "__init__" if part == "init" else part)
        if is_unsupported(here):
            return here
    return here


@pytest.mark.parametrize(
    ("module", "name", "parameters"),
    [pytest.param(*each, id=f"{each[0]}.{each[1]}") for each in names()],
)
def test_a_name_of_flink_is_here(module: str, name: str, parameters: list[str] | None) -> None:
    here = found(module, name)
    if is_unsupported(here):
        assert len(reason_of(here)) > 10
        return
    if isinstance(here, staticmethod | classmethod):
        here = here.__func__
    if parameters is None or isinstance(here, property) or not inspect.isfunction(here):
        return
    ours = [each for each in inspect.signature(here).parameters if each not in ("self", "cls")]
    assert ours[: len(parameters)] == [each.strip("*=") for each in parameters]


def test_all_names_of_the_package_are_flinks() -> None:
    listed = {name for _, name, _ in names()} | {"Row", "RowKind", "ListView", "MapView"}
    assert set(headrace.table.__all__) <= listed
    for name in headrace.table.__all__:
        assert getattr(headrace.table, name) is not None
