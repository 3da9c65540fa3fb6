"""Spark's settings that the user gave outside of the program, as ``spark-submit`` merges them.

They must be known before the JVM is started, because they decide whether it runs jobs on a cluster
or on this machine. Sources: the documentation of Spark's configuration, and
``SparkSubmitArguments`` (4.3.0).
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path

import pyspark

SUBMIT_ARGUMENTS = "PYSPARK_SUBMIT_ARGS"
PROPERTIES_FILE = "--properties-file"
CONF = ("--conf", "-c")
SHELL = "pyspark-shell"  # what pyspark submits if the variable is not set (4.3.0)
MASTER = "spark.master"
REMOTE = "spark.remote"

_ARGUMENT_KEYS = {
    "--master": MASTER,
    "--remote": REMOTE,
    "--name": "spark.app.name",
    "--deploy-mode": "spark.submit.deployMode",
    "--driver-memory": "spark.driver.memory",
    "--driver-java-options": "spark.driver.extraJavaOptions",
}
_VARIABLE_KEYS = {
    "MASTER": MASTER,
    "SPARK_REMOTE": REMOTE,
    "SPARK_DRIVER_MEMORY": "spark.driver.memory",
}
_SEPARATOR = re.compile(r"(?<!\\)(?:\s*[=:]\s*|\s+)")
_ESCAPED = re.compile(r"\\(u[0-9a-fA-F]{4}|.)")
_CONTROL = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def outside_settings(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of the command line, of properties files and of the environment."""
    given, file, with_defaults = _read_arguments(environ)
    settings = {key: environ[name] for name, key in _VARIABLE_KEYS.items() if environ.get(name)}
    if file is None or with_defaults:
        settings |= _read_properties(_defaults_file(environ))
    if file is not None:
        settings |= _read_properties(Path(file))
    return {**settings, **given}


def argument_settings(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of the command line alone."""
    return _read_arguments(environ)[0]


def with_arguments(given: str, added: list[str]) -> str:
    """Return arguments of ``spark-submit`` with more options, which override earlier ones."""
    known = shlex.split(given)
    if known and known[-1] == SHELL:  # what is submitted: options after it are the program's
        known.pop()
    return shlex.join([*known, *added, SHELL])


def _read_arguments(environ: Mapping[str, str]) -> tuple[dict[str, str], str | None, bool]:
    """Return the settings of the arguments, their file, and whether it adds to the defaults.

    Whatever the order, ``--master`` counts over ``--conf spark.master``, and so do the others.
    """
    given: dict[str, str] = {}
    named: dict[str, str] = {}
    file, with_defaults = None, False
    for name, value in _options(shlex.split(environ.get(SUBMIT_ARGUMENTS, ""))):
        if name in CONF:
            key, _, text = value.partition("=")
            given[key.strip()] = text.strip()
        elif name == PROPERTIES_FILE:
            file = value
        elif name == "--load-spark-defaults":
            with_defaults = True
        elif name in _ARGUMENT_KEYS:
            named[_ARGUMENT_KEYS[name]] = value
    return {**given, **named}, file, with_defaults


def _options(arguments: list[str]) -> Iterator[tuple[str, str]]:
    """Yield options with the argument after them, or after ``=``."""
    for argument, following in pairwise([*arguments, ""]):
        if argument.startswith("--") and "=" in argument:
            name, _, value = argument.partition("=")
            yield name, value
        elif argument.startswith("-"):
            yield argument, following


def _defaults_file(environ: Mapping[str, str]) -> Path:
    home = environ.get("SPARK_HOME") or os.path.dirname(pyspark.__file__)
    folder = environ.get("SPARK_CONF_DIR") or os.path.join(home, "conf")
    return Path(folder, "spark-defaults.conf")


def _read_properties(path: Path) -> dict[str, str]:
    """Return the content of a properties file, in which a blank may separate key and value."""
    try:
        text = path.read_text("utf-8", errors="replace")  # as Spark does
    except FileNotFoundError:
        return {}
    settings = {}
    for line in re.sub(r"(?<!\\)\\\n\s*", "", text).splitlines():
        line = line.strip()
        if line and line[0] not in "#!":
            key, *value = _SEPARATOR.split(line, maxsplit=1)
            settings[_unescape(key)] = _unescape("".join(value)).strip()
    return settings


def _unescape(text: str) -> str:
    return _ESCAPED.sub(
        lambda found: (
            chr(int(found[1][1:], 16)) if len(found[1]) == 5 else _CONTROL.get(found[1], found[1])
        ),
        text,
    )
