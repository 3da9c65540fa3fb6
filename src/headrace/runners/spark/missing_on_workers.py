"""Short messages: what the Python of Spark's workers lacks, and how to provide it.

The patterns match the texts of Spark 4.2 and 4.3. All functions return None for other failures.
"""

from __future__ import annotations

import re
from typing import NamedTuple

PACKAGE_HINT = (
    "make an archive of the program and all its imports with headrace package, and give it to"
    " spark-submit --archives"
)

_OTHER_VERSION = re.compile(
    r"\[PYTHON_VERSION_MISMATCH\] Python in worker has different version: (?P<there>[\d.]+) than"
    r" that in driver: (?P<here>[\d.]+)"
)
_NO_INTERPRETER = re.compile(r'Cannot run program "(?P<path>[^"]+)".*error=(?P<number>2|13)\b')
_NOT_STARTED = re.compile(r"Error from python worker:\n(?P<said>(?:  .*\n)+)PYTHONPATH was:")
_NOT_INSTALLED = re.compile(r"\[PACKAGE_NOT_INSTALLED\] (?P<name>\S+) >= (?P<least>\S+) must be")
_NO_MODULE = re.compile(r"No module named '(?P<name>[^'.]+)")


class Missing(NamedTuple):
    """What is missing, and a hint how to provide it."""

    message: str
    hint: str


def find_missing(text: str) -> Missing | None:
    """Return what a worker lacked, if that is why Spark failed with ``text``."""
    return _missing_interpreter(text) or _missing_package(text)


def _missing_interpreter(text: str) -> Missing | None:
    if match := _OTHER_VERSION.search(text):
        here = match["here"]
        return Missing(
            f"Spark's workers run Python {match['there']}, and the program runs Python {here}",
            f"install Python {here} where the workers run, and name it in PYSPARK_PYTHON or"
            f" --conf spark.pyspark.python=python{here}",
        )
    if match := _NO_INTERPRETER.search(text):
        path = match["path"]
        archive = f" (--archives FILE.tar.gz#{path.split('/')[1]})" if path.startswith("./") else ""
        return Missing(
            f"Spark's workers have no Python at {path}",
            f"send it to them{archive}, or name a Python that they have in PYSPARK_PYTHON or"
            " --conf spark.pyspark.python=PATH",
        )
    if match := _NOT_STARTED.search(text):
        said = match["said"].strip().splitlines()[-1].strip()
        return Missing(
            f"Python did not start in a worker of Spark: {said.removeprefix('headrace: ')}",
            "name a Python that works there in PYSPARK_PYTHON; for an archive of headrace package"
            " in HEADRACE_PYTHON (--conf spark.executorEnv.HEADRACE_PYTHON=PATH)",
        )
    return None


def _missing_package(text: str) -> Missing | None:
    if match := _NOT_INSTALLED.search(text):
        return Missing(
            f"the Python of Spark's workers needs {match['name']} {match['least']} or newer",
            f"install it where the workers run; or {PACKAGE_HINT}",
        )
    match = _NO_MODULE.search(text)
    hint = import_hint(text)
    if match is None or hint is None:
        return None
    return Missing(f"the Python of Spark's workers has no module {match['name']!r}", hint)


def import_hint(text: str) -> str | None:
    """Return the hint for a module that a worker could not import."""
    missing = _NO_MODULE.search(text)
    if missing is None:
        return None
    if missing["name"] == "headrace":
        return (
            "before the session is made, set PYSPARK_PYTHON to a Python that has Headrace; or"
            f" {PACKAGE_HINT}"
        )
    return (
        f"workers import modules themselves: install {missing['name']} where the workers run, or"
        f" give it to spark.submit.pyFiles or addPyFile; or {PACKAGE_HINT}"
    )
