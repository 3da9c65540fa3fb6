"""Other versions of Spark are refused in a sentence, with what to install."""

from __future__ import annotations

import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from headrace.errors import UnsupportedError
from headrace.runners.spark.startup.spark_version import (
    NEXT,
    OLDEST,
    check_jvm,
    check_pyspark,
)

ROOT = Path(__file__).parents[5]


def test_the_bounds_are_those_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    bounds = f">={OLDEST[0]}.{OLDEST[1]},<{NEXT[0]}.{NEXT[1]}"
    assert f"pyspark{bounds}" in project["dependencies"]


@pytest.mark.parametrize("version", ["4.2.0", "4.2.1", "4.3.0", "4.3.1.dev0"])
def test_a_version_within_them_is_taken(version: str) -> None:
    check_pyspark(version)
    check_jvm(jvm_of(version), version)


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("3.5.6", "Headrace needs Spark 4.2 or newer, and this is 3.5.6, which does not tell"),
        ("4.1.4", "Headrace needs Spark 4.2 or newer, and this is 4.1.4, which does not tell"),
        ("4.4.0", "Headrace runs on Spark 4.2 and 4.3, and this is 4.4.0: "),
        ("5.0.0.dev1", "Headrace runs on Spark 4.2 and 4.3, and this is 5.0.0.dev1: "),
    ],
)
def test_an_older_or_newer_one_is_refused(version: str, said: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        check_pyspark(version)
    assert caught.value.message.startswith(said)
    assert str(caught.value.hint).startswith("pip install 'pyspark>=4.2,<4.4'; a program that is")


def test_the_jvm_has_the_version_of_the_package() -> None:
    check_jvm(jvm_of("4.2.1"), "4.2.0")
    with pytest.raises(UnsupportedError) as caught:
        check_jvm(jvm_of("4.2.1"), "4.3.0")
    assert caught.value.message == (
        "Spark 4.2.1 runs this program, and the Python package pyspark is 4.3.0: both must have the"
        " same minor version"
    )
    assert "pip install pyspark==4.2.1" in str(caught.value.hint)
    assert "unset SPARK_HOME" in str(caught.value.hint)


def test_a_version_that_is_refused_is_not_offered() -> None:
    with pytest.raises(UnsupportedError) as caught:
        check_jvm(jvm_of("3.5.1"), "4.3.0")
    assert "pip install" not in str(caught.value.hint)


def jvm_of(version: str) -> Any:
    package = SimpleNamespace(SPARK_VERSION=lambda: version)
    spark = SimpleNamespace(package=package)
    return SimpleNamespace(org=SimpleNamespace(apache=SimpleNamespace(spark=spark)))
