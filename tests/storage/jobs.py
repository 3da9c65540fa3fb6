"""Runs jobs on a storage, each in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence

from tests.faults.processes import ROOT
from tests.storage.servers import Storage


def run_job(
    module: str,
    storage: Storage,
    arguments: Sequence[str],
    settings: Mapping[str, str] | None = None,
    timeout_s: float = 200,
) -> str | None:
    """Run ``python -m MODULE ARGUMENTS KEY=VALUE ...``; return its error output if it failed.

    The settings are those of the storage, and further ones.
    """
    pairs = {**storage.settings, **(settings or {})}.items()
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments, *(f"{key}={value}" for key, value in pairs)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path.rstrip(os.pathsep)},
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    return done.stderr if done.returncode else None
