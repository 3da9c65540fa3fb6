"""Record what PyFlink's Table API shows in the programs, into ``goldens.jsonl``.

Run it at the root of the repository, with an interpreter that has ``apache-flink`` installed and
its folder first on the PATH::

    python -m tests.differential.tables.record [MODULE/PROGRAM ...]

With names (or their beginnings), the others keep their goldens. The goldens are facts: they come
from here and are never edited by hand.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ["TZ"] = "UTC"  # before the Java process starts

from tests.differential.tables.corpus import GOLDENS, Run, load, modules

OPTIONS = {
    "parallelism.default": "1",
    "table.local-time-zone": "UTC",
    "restart-strategy.type": "none",
}
OUTPUT = Path(tempfile.mkstemp(prefix="printed")[1])


def capture(function: Callable[[], object]) -> str:
    """Return what a call prints; Java prints to the file that is this process's output."""
    sys.stdout.flush()
    before = OUTPUT.stat().st_size
    function()
    sys.stdout.flush()
    time.sleep(0.3)
    return OUTPUT.read_text("utf-8")[before:]


def main(chosen: list[str]) -> None:
    """Record the programs, one after the other."""
    kept = {}
    if GOLDENS.exists():
        kept = {
            each["program"]: each
            for each in map(json.loads, GOLDENS.read_text("utf-8").splitlines())
        }
    found = {}
    for module in modules():
        for name, program in load(module, "pyflink").items():
            full = f"{module}/{name}"
            if chosen and full in kept and not any(full.startswith(each) for each in chosen):
                found[full] = kept[full]
                continue
            run = Run("pyflink", OPTIONS, capture)
            print(full, file=sys.stderr, flush=True)
            try:
                program(run)
            except Exception as error:
                print(f"    {type(error).__name__}: {str(error)[:600]}", file=sys.stderr)
                continue
            found[full] = {"program": full, "shown": run.shown}
    lines = [json.dumps(found[name], ensure_ascii=False) for name in sorted(found)]
    GOLDENS.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    with OUTPUT.open("a") as printed:
        os.dup2(printed.fileno(), 1)  # before the Java process starts
    main(sys.argv[1:])
