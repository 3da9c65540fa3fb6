"""Passes the settings of a new JVM in files that only their owner can read.

A command line can be read by all users of the machine (``ps``), and settings may have passwords. So
Spark gets them in a properties file, and Java its options in an argument file. Both files are
removed when the JVM answers: it has read them by then.
"""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from headrace.errors import ConfigurationError
from headrace.runners.spark.startup.outside_settings import (
    CONF,
    PROPERTIES_FILE,
    SHELL,
    SUBMIT_ARGUMENTS,
)
from headrace.runners.temporary_files import new_subfolder, write_private

_JAVA_OPTIONS = ("spark.driver.defaultJavaOptions", "spark.driver.extraJavaOptions")


@contextmanager
def submitted_in_files(settings: Mapping[str, str]) -> Iterator[None]:
    """Pass the settings to a JVM that pyspark launches within a ``with`` block.

    As for settings on the command line, those in the user's ``PYSPARK_SUBMIT_ARGS`` have priority
    over them, and they have priority over ``spark-defaults.conf``.

    Raises:
        ConfigurationError: options of the JVM cannot be parsed, or set its memory.
    """
    given = os.environ.get(SUBMIT_ARGUMENTS)
    user_file, settings_given, rest = _split(shlex.split(SHELL if given is None else given))
    folder = new_subfolder("submit-")
    try:
        text = _format_properties({**settings, **_java_options(settings, folder)})
        chosen = [PROPERTIES_FILE, str(folder / "spark.properties")]
        if user_file is None:
            chosen.append("--load-spark-defaults")  # otherwise Spark reads only this file
        else:
            # Spark reads one file, in which the last of two lines for a key counts.
            text = f"{Path(user_file).read_text('utf-8')}\n\n{text}"
        text += _format_properties(settings_given)
        write_private(folder / "spark.properties", text)
        os.environ[SUBMIT_ARGUMENTS] = shlex.join([*chosen, *rest])
        yield
    finally:
        if given is None:
            os.environ.pop(SUBMIT_ARGUMENTS, None)
        else:
            os.environ[SUBMIT_ARGUMENTS] = given
        shutil.rmtree(folder, ignore_errors=True)


def _split(arguments: list[str]) -> tuple[str | None, dict[str, str], list[str]]:
    """Return the properties file in arguments of ``spark-submit``, the settings, and the rest."""
    properties_file, settings, rest = None, {}, []
    left = iter(arguments)
    for argument in left:
        name, equals, value = argument.partition("=")
        if name == PROPERTIES_FILE:
            properties_file = value if equals else next(left, None)
        elif name in CONF:
            key, _, text = (value if equals else next(left, "")).partition("=")
            settings[key.strip()] = text.strip()
        else:
            rest.append(argument)
    return properties_file, settings, rest


def _java_options(settings: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Return the settings with JVM options, as references to argument files."""
    named = {}
    for key in _JAVA_OPTIONS:
        if settings.get(key):
            path = folder / key
            write_private(path, "".join(map(_format_argument, _split_options(key, settings[key]))))
            named[key] = f'"@{path}"'  # Spark splits the text at blanks, as a shell does
    return named


def _split_options(key: str, text: str) -> list[str]:
    try:
        options = shlex.split(text)
    except ValueError as error:
        raise ConfigurationError(f"{key} cannot be read: {error}") from None
    if any(option.startswith("-Xmx") for option in options):
        # Spark's launcher refuses it too, where it sees it (4.3.0).
        raise ConfigurationError(f"{key} sets -Xmx", hint="set spark.driver.memory")
    return options


def _format_argument(option: str) -> str:
    """Return a line of an argument file. Source: the manual of the java command."""
    quoted = option.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{quoted}"\n'


def _format_properties(settings: Mapping[str, str]) -> str:
    """Return a properties file. Source: the documentation of ``java.util.Properties.load``."""
    return "".join(f"{_escape(key)}={_escape(value)}\n" for key, value in settings.items())


def _escape(text: str) -> str:
    units = text.encode("utf-16-be", "surrogatepass")
    pairs = (int.from_bytes(units[at : at + 2], "big") for at in range(0, len(units), 2))
    return "".join(
        chr(u) if chr(u).isascii() and chr(u).isalnum() else f"\\u{u:04x}" for u in pairs
    )
