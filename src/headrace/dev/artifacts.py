"""Downloads the files of a Java server, and keeps them in the user's cache.

Ivy, which is among pyspark's jars, downloads from Maven Central. Each file must have the checksum
in ``pinned.txt``; the extracted files are checked again before each start.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

from headrace.errors import JobError
from headrace.runners.spark.startup.java import cache_dir, find_java

_LISTED = Path(__file__).with_name("pinned.txt")
_SUMS = "SHA256SUMS"
_FETCH_TIMEOUT_S = 900
_SETTINGS = (
    "<ivysettings><settings defaultResolver='central'/><resolvers>"
    "<ibiblio name='central' m2compatible='true' usepoms='false'/>"
    "</resolvers></ivysettings>"
)


@dataclass(frozen=True)
class Pinned:
    """A file of Maven Central. ``kind``: the end of its name, after classifier or version."""

    organisation: str
    module: str
    version: str
    kind: str
    sha256: str

    @property
    def classifier(self) -> str:
        """The classifier, or an empty text."""
        return self.kind.partition(".")[0] if "." in self.kind else ""

    @property
    def extension(self) -> str:
        """The file's extension."""
        return self.kind.partition(".")[2] if "." in self.kind else self.kind

    @property
    def file_name(self) -> str:
        """The name of the downloaded file."""
        middle = f"-{self.classifier}" if self.classifier else ""
        return f"{self.module}-{self.version}{middle}.{self.extension}"


def read_pinned_files(server: str, listed: Path = _LISTED) -> list[Pinned]:
    """Return the files of a server (``kafka``, ``registry``), from the list in a file."""
    lines = listed.read_text().splitlines()
    rows = [line.split() for line in lines if not line.startswith("#")]
    return [Pinned(*row[1:]) for row in rows if row[0] == server]


def install_server(
    server: str, environ: Mapping[str, str] | None = None, parts: list[Pinned] | None = None
) -> Path:
    """Return the folder with a server's files, which are downloaded if necessary.

    ``parts``: the files, if they are not in the list.

    Raises:
        JobError: a file cannot be downloaded, or has another checksum.
    """
    parts = read_pinned_files(server) if parts is None else parts
    digest = sha256("\n".join(part.sha256 for part in parts).encode()).hexdigest()[:12]
    folder = _cache_folder(os.environ if environ is None else environ) / f"{server}-{digest}"
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{server}-") as made:
            content = Path(made, "content")
            print(f"headrace: fetching {server} from Maven Central, once", file=sys.stderr)
            _download_files(parts, Path(made))
            _unpack_files(parts, Path(made, "fetched"), content)
            sums = {str(path.relative_to(content)): checksum(path) for path in _list_files(content)}
            text = "".join(f"{found}  {name}\n" for name, found in sorted(sums.items()))
            (content / _SUMS).write_text(text)
            if not folder.exists():  # another process may have created it first
                content.rename(folder)
    _verify_files(folder)
    return folder


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file."""
    digest = sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _cache_folder(environ: Mapping[str, str]) -> Path:
    found = cache_dir(environ)
    if found is None:
        raise JobError(
            "there is no folder to keep fetched servers in",
            hint="set HOME or XDG_CACHE_HOME",
        )
    return found / "dev"


def _list_files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and path.name != _SUMS]


def _download_files(parts: list[Pinned], work_dir: Path) -> None:
    """Download the files into ``fetched`` below ``work_dir``, and check them.

    Raises:
        JobError: a file cannot be downloaded, or has another checksum.
    """
    (work_dir / "settings.xml").write_text(_SETTINGS)
    (work_dir / "ivy.xml").write_text(_ivy_file(parts))
    command = [
        str(find_java().home / "bin" / "java"),
        *("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
        *("-cp", str(_ivy_jar()), "org.apache.ivy.Main"),
        *("-settings", str(work_dir / "settings.xml"), "-ivy", str(work_dir / "ivy.xml")),
        *("-cache", str(work_dir / "cache"), "-confs", "run"),
        *("-retrieve", f"{work_dir}/fetched/[artifact]-[revision](-[classifier]).[ext]"),
    ]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=_FETCH_TIMEOUT_S, check=False
    )
    for part in parts:
        path = work_dir / "fetched" / part.file_name
        if not path.exists():
            lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
            raise JobError(
                f"{part.file_name} could not be fetched from Maven Central",
                where={"Ivy's last words": " / ".join(lines[-6:])[:600]},
                hint="the first start needs the network; later ones do not",
            )
        if checksum(path) != part.sha256:
            raise JobError(
                f"the fetched {part.file_name} has another checksum than expected",
                where={"SHA-256": checksum(path), "expected": part.sha256},
                hint="something between this machine and Maven Central changes files",
            )


def _ivy_file(parts: list[Pinned]) -> str:
    dependencies = "".join(
        f"<dependency org={quoteattr(part.organisation)} name={quoteattr(part.module)}"
        f" rev={quoteattr(part.version)} conf='run->default' transitive='false'>"
        f"<artifact name={quoteattr(part.module)} type={quoteattr(part.extension)}"
        f" ext={quoteattr(part.extension)}"
        + (f" m:classifier={quoteattr(part.classifier)}" if part.classifier else "")
        + "/></dependency>"
        for part in parts
    )
    return (
        "<ivy-module version='2.0' xmlns:m='http://ant.apache.org/ivy/maven'>"
        "<info organisation='headrace' module='dev'/>"
        "<configurations><conf name='run'/></configurations>"
        f"<dependencies>{dependencies}</dependencies></ivy-module>"
    )


def _ivy_jar() -> Path:
    spark = find_spec("pyspark")
    places = spark.submodule_search_locations if spark is not None else None
    found = [jar for place in places or () for jar in Path(place, "jars").glob("ivy-*.jar")]
    if not found:
        raise JobError(
            "servers are fetched with the Ivy among pyspark's jars, and there is none",
            hint="pip install pyspark brings it",
        )
    return found[0]


_FILTER: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
"""Python has extraction filters since 3.11.4. Without them, only the checksum protects."""


def _unpack_files(parts: list[Pinned], fetched: Path, content: Path) -> None:
    content.mkdir()
    for part in parts:
        path = fetched / part.file_name
        if part.extension == "tar.gz":
            with tarfile.open(path) as archive:
                archive.extractall(content, **_FILTER)
        else:
            shutil.move(path, content / part.file_name)


def _verify_files(folder: Path) -> None:
    """Raise unless the folder contains the extracted files.

    Raises:
        JobError: a file is missing or changed.
    """
    lines = (line.partition("  ") for line in (folder / _SUMS).read_text().splitlines())
    expected = {name: found for found, _, name in lines}
    found = {str(path.relative_to(folder)): checksum(path) for path in _list_files(folder)}
    if found != expected:
        names = sorted(name for name, _ in found.items() ^ expected.items())
        raise JobError(
            "the files of a server were changed after they were fetched",
            where={"folder": str(folder), "file": names[0]},
            hint="remove the folder: the next start fetches it again",
        )
