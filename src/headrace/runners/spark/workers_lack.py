"""Short explanations of what the Python of Spark's workers lacks, and how to bring it.

The texts of Spark are those of 4.2 and 4.3. All functions return None for other failures.
"""

from __future__ import annotations

import re
from typing import NamedTuple

PACKAGE_HINT = (
    "headrace package makes an archive of the program with all that it imports, for spark-submit"
    " --archives"
)

_OTHER_VERSION = re.compile(
    r"\[PYTHON_VERSION_MISMATCH\] Python in worker has different version: (?P<there>[\d.]+) than"
    r" that in driver: (?P<here>[\d.]+)"
)
_NO_INTERPRETER = re.compile(r'Cannot run program "(?P<path>[^"]+)".*error=(?P<number>2|13)\b')
_NOT_STARTED = re.compile(r"Error from python worker:\n(?P<said>(?:  .*\n)+)PYTHONPATH was:")
_NOT_INSTALLED = re.compile(r"\[PACKAGE_NOT_INSTALLED\] (?P<name>\S+) >= (?P<least>\S+) must be")
_NO_MODULE = re.compile(r"No module named '(?P<name>[^'.]+)")


class Lack(NamedTuple):
    """What is missing, and how to bring it."""

    message: str
    hint: str


def find_lack(text: str) -> Lack | None:
    """Return what a worker lacked, if that is why Spark failed with ``text``."""
    return _interpreter_lack(text) or _package_lack(text)


def _interpreter_lack(text: str) -> Lack | None:
    if match := _OTHER_VERSION.search(text):
        here = match["here"]
        return Lack(
            f"Spark's workers run Python {match['there']}, and the program runs Python {here}",
            f"let both run the same minor version: name the workers' interpreter by PYSPARK_PYTHON"
            f" or --conf spark.pyspark.python=python{here}, and install it where they run",
        )
    if match := _NO_INTERPRETER.search(text):
        path = match["path"]
        archive = f" (--archives FILE.tar.gz#{path.split('/')[1]})" if path.startswith("./") else ""
        return Lack(
            f"Spark's workers have no Python at {path}",
            f"bring it{archive}, or name one that they have by PYSPARK_PYTHON or --conf"
            " spark.pyspark.python=PATH",
        )
    if match := _NOT_STARTED.search(text):
        said = match["said"].strip().splitlines()[-1].strip()
        return Lack(
            f"Python did not start in a worker of Spark: {said.removeprefix('headrace: ')}",
            "name an interpreter that works there by PYSPARK_PYTHON, or by HEADRACE_PYTHON for an"
            " archive of headrace package (--conf spark.executorEnv.HEADRACE_PYTHON=PATH)",
        )
    return None


def _package_lack(text: str) -> Lack | None:
    if match := _NOT_INSTALLED.search(text):
        return Lack(
            f"the Python of Spark's workers needs {match['name']} {match['least']} or newer",
            f"install it where the workers run; or {PACKAGE_HINT}",
        )
    match = _NO_MODULE.search(text)
    hint = import_hint(text)
    if match is None or hint is None:
        return None
    return Lack(f"the Python of Spark's workers has no module {match['name']!r}", hint)


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
        f"of an imported module only the name travels, and the worker imports it: install"
        f" {missing['name']} where the workers run, or give it to spark.submit.pyFiles or"
        f" addPyFile; or {PACKAGE_HINT}"
    )
