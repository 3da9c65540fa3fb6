"""Dashboards for Grafana and alert rules for Prometheus, which the package carries."""

from __future__ import annotations

import shutil
from importlib.resources import as_file, files
from pathlib import Path

FOLDER = "dashboards"


def names() -> list[str]:
    """Return the names of the files."""
    return sorted(each.name for each in files("headrace").joinpath(FOLDER).iterdir())


def copy_to(folder: Path) -> list[Path]:
    """Copy all files into a folder, which is created, and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    copied = []
    for name in names():
        with as_file(files("headrace").joinpath(FOLDER, name)) as path:
            copied.append(Path(shutil.copyfile(path, folder / name)))
    return copied
