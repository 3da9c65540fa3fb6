"""A folder with all dependencies of a job, with the same content on each worker.

    path        a line for each entry of the module path, relative to this folder
    files/      the Python files, each in a folder of its own
    packages/   packages installed by pip
    work/       the working directory: extracted archives and cached files, if there are any

The folder's name is a digest of its content, so equal content is made and shipped once per process.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from headrace.errors import ConfigurationError
from headrace.runners.dependencies.declared import Dependencies
from headrace.runners.temporary_files import new_subfolder

PATH, FILES, PACKAGES, WORK = "path", "files", "packages", "work"

_folders: dict[str, Path] = {}
"""The folders made by this process, by digest."""


def dependencies_folder(dependencies: Dependencies) -> Path | None:
    """Create the folder of the dependencies; return None if nothing must be shipped.

    Raises:
        ConfigurationError: packages cannot be installed, or an archive cannot be read.
    """
    if not dependencies.needs_folder:
        return None
    digest = _hash_files(dependencies)
    if digest not in _folders:
        folder = new_subfolder("needs-") / f"headrace-{digest}"
        folder.mkdir()
        _fill(folder, dependencies)
        _folders[digest] = folder
    return _folders[digest]


def working_folder(folder: str | os.PathLike[str] | None) -> str | None:
    """Return the working directory within a folder of dependencies; None if there is none."""
    work = None if folder is None else os.path.join(folder, WORK)
    return work if work and os.path.isdir(work) else None


def _fill(folder: Path, dependencies: Dependencies) -> None:
    entries = [_copy_python_file(folder, n, Path(p)) for n, p in enumerate(dependencies.files)]
    if dependencies.requirements is not None:
        _install(*dependencies.requirements, folder / PACKAGES)
        entries.append(PACKAGES)
    for path, target in dependencies.archives:
        extract(Path(path), folder / WORK / target)
    for cached in dependencies.cached_files:
        copy = folder / WORK / cached.name
        copy.parent.mkdir(parents=True, exist_ok=True)
        if os.path.isdir(cached.path):
            shutil.copytree(cached.path, copy, symlinks=True)
        else:
            shutil.copyfile(cached.path, copy)
            copy.chmod(0o755 if cached.executable else 0o644)
    (folder / PATH).write_text("".join(f"{entry}\n" for entry in entries), "utf-8")


def _copy_python_file(folder: Path, number: int, path: Path) -> str:
    """Copy a Python file or folder; return the entry of the module path for it."""
    own_folder = folder / FILES / str(number)
    copy = own_folder / path.name
    own_folder.mkdir(parents=True)
    if path.is_dir():
        shutil.copytree(path, copy, ignore=shutil.ignore_patterns("__pycache__"))
    elif path.suffix == ".zip":
        extract(path, copy)
    else:
        shutil.copyfile(path, copy)
    return str(
        (own_folder if path.suffix == ".py" and path.is_file() else copy).relative_to(folder)
    )


def extract(archive: Path, target: Path) -> None:
    """Extract an archive into a folder, with permissions and links.

    Raises:
        ConfigurationError: the archive cannot be read, or has a member outside the folder.
    """
    target.mkdir(parents=True, exist_ok=True)
    try:
        if tarfile.is_tarfile(archive):
            with tarfile.open(archive) as tar:
                _extract_tar(tar, target)
        else:
            with zipfile.ZipFile(archive) as zipped:
                for info in zipped.infolist():
                    _extract_member(zipped, info, target)
    except (OSError, tarfile.TarError, zipfile.BadZipFile) as error:
        raise ConfigurationError(
            f"the archive {archive.name!r} cannot be extracted: {error}",
            where={"archive": str(archive)},
        ) from error


def _extract_tar(tar: tarfile.TarFile, target: Path) -> None:
    if hasattr(tarfile, "tar_filter"):
        tar.extractall(target, filter="tar")
        return
    root = os.path.realpath(target)  # Python before 3.11.4 has no filters
    for member in tar:
        target_path = os.path.realpath(os.path.join(root, member.name.lstrip("/")))
        if os.path.commonpath([root, target_path]) != root:
            raise tarfile.TarError(f"{member.name!r} lies outside of the folder")
        member.name = member.name.lstrip("/")
        tar.extract(member, target)


def _extract_member(zipped: zipfile.ZipFile, info: zipfile.ZipInfo, target: Path) -> None:
    mode = info.external_attr >> 16
    if not stat.S_ISLNK(mode):
        path = zipped.extract(info, target)
        if mode & 0o777 and not info.is_dir():
            os.chmod(path, mode & 0o777 | stat.S_IRUSR)
        return
    link = target / info.filename
    points_to = os.fsdecode(zipped.read(info))
    inside = os.path.normpath(link).startswith(os.path.join(target, ""))
    if not inside or ".." in Path(info.filename).parts:
        raise ConfigurationError(f"the archive holds a link outside of itself: {info.filename}")
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(points_to)


def _install(requirements: str, cache: str, target: Path) -> None:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command += ["--requirement", requirements, "--target", str(target)]
    if cache:
        command += ["--no-index", "--find-links", cache]
    target.mkdir()
    # Relative paths in the file are relative to its folder.
    folder = os.path.dirname(requirements)
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        output = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        raise ConfigurationError(
            "pip could not install the packages that the job's functions need",
            where={"requirements": requirements, "pip says": "\n".join(output[-3:])},
            hint="install pip into this environment (python -m ensurepip)"
            if "No module named pip" in done.stderr
            else None,
        )


def _hash_files(dependencies: Dependencies) -> str:
    """Return a digest of all files, and of their use."""
    digest = hashlib.sha256(f"{sys.version_info[:2]} {sys.platform}".encode())
    inputs = [(path, "file", os.path.basename(path)) for path in dependencies.files]
    inputs += [(path, "archive", target) for path, target in dependencies.archives]
    inputs += [(path, "requirements", "") for path in dependencies.requirements or () if path]
    inputs += [(c.path, f"cached {c.executable}", c.name) for c in dependencies.cached_files]
    for path, kind, name in inputs:
        digest.update(repr((kind, name)).encode())
        for file in _list_files(path):
            digest.update(os.path.relpath(file, path).encode())
            with open(file, "rb") as content:
                digest.update(hashlib.file_digest(content, "sha256").digest())
    return digest.hexdigest()[:24]


def _list_files(path: str) -> Iterator[str]:
    if not os.path.isdir(path):
        yield path
        return
    for folder, folders, names in os.walk(path):
        folders.sort()
        yield from (os.path.join(folder, name) for name in sorted(names))
