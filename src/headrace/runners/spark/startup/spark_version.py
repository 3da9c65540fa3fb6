"""The versions of Spark that jobs run on; the others are refused.

What differs between them is in docs/adr/0049-spark-versions.md.
"""

from __future__ import annotations

import re
from typing import Any

import pyspark

from headrace.errors import UnsupportedError

OLDEST = (4, 2)
NEXT = (4, 4)
"""The first version that is too new: pyproject.toml has the same bounds."""

_WANTED = f"pyspark>={OLDEST[0]}.{OLDEST[1]},<{NEXT[0]}.{NEXT[1]}"


def check_pyspark(version: str = pyspark.__version__) -> None:
    """Check that jobs run on the installed pyspark.

    Raises:
        UnsupportedError: it is too old or too new.
    """
    found = _minor(version)
    if found < OLDEST:
        problem = (
            f"Headrace needs Spark 4.2 or newer, and this is {version}, which does not tell a"
            " source in Python where a micro-batch begins"
        )
    elif found >= NEXT:
        problem = (
            f"Headrace runs on Spark 4.2 and 4.3, and this is {version}: what Headrace uses of"
            " Spark may change with a minor version"
        )
    else:
        return
    raise UnsupportedError(
        problem,
        where={"pyspark": pyspark.__path__[0]},
        hint=f"pip install '{_WANTED}'; a program that is submitted runs with the pyspark of its"
        " spark-submit, which must be of such a version",
    )


def check_jvm(jvm: Any, python: str = pyspark.__version__) -> None:
    """Check that Spark in the JVM has the minor version of the Python package, ``python``.

    ``jvm``: py4j's view of it; it needs no session.

    Raises:
        UnsupportedError: it has another one.
    """
    version = str(jvm.org.apache.spark.package.SPARK_VERSION())
    if _minor(version) == _minor(python):
        return
    hint = f"start the program with Spark {python}: unset SPARK_HOME, or use its spark-submit"
    if OLDEST <= _minor(version) < NEXT:
        hint = f"pip install pyspark=={version}; or {hint}"
    raise UnsupportedError(
        f"Spark {version} runs this program, and the Python package pyspark is {python}: both must"
        " have the same minor version",
        where={"pyspark": pyspark.__path__[0]},
        hint=hint,
    )


def _minor(version: str) -> tuple[int, int]:
    """Return (4, 3) for "4.3.0", and for "4.3.0.dev1"."""
    major, minor = re.findall(r"\d+", version)[:2]
    return int(major), int(minor)
