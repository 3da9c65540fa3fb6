"""Every module of the benchmarks can be imported, or lacks nothing but a peer's package."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

import bench

pytestmark = pytest.mark.slow

HOME = Path(bench.__file__).parent
PEERS = {
    "bytewax",
    "confluent_kafka",
    "matplotlib",
    "orjson",
    "pathway",
    "pyflink",
    "quixstreams",
    "redis",
    "sklearn",
}
"""Packages that are in other environments, or in extras."""
MODULES = sorted(
    ".".join(("bench", *path.relative_to(HOME).with_suffix("").parts))
    for path in HOME.rglob("*.py")
    if path.name != "__init__.py"
)


@pytest.mark.parametrize("name", MODULES)
def test_a_module_can_be_imported(name: str) -> None:
    try:
        found = import_module(name)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        assert package in PEERS, f"{name} needs {error.name}"
    else:
        assert found.__doc__
