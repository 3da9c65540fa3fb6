"""Draw mutants by a seed and run the tests without Spark on each.

    python -m tests.mutants --seed 27 --count 300 --out before.json
    python -m tests.mutants --seed 27 --count 300 --out after.json --before before.json

A mutant is one wrong expression or one statement left out, in ``runtime``, ``operators`` or the
connectors. Each is run against the tests that reach it. The second form tries only mutants that
were caught in the run before, first by the test that caught them. It ends with 1 if one of them
is caught no more.
``--tests`` names another checkout whose tests are run on this one's source.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer

from tests.mutants.plugin import CAUGHT
from tests.mutants.sites import Mutant, copy_with, draw

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ["headrace/runtime", "headrace/operators", "headrace/datastream/connectors"]


def main(
    seed: int = 27,
    count: int = 300,
    out: Path = Path("mutants.json"),
    before: Path | None = None,
    tests: Path = ROOT,
    select: Annotated[list[str] | None, typer.Argument(help="tests to run; all without it")] = None,
) -> None:
    """Say which mutants the tests catch."""
    mutants = draw(ROOT / "src", PACKAGES, count, seed)
    earlier = json.loads(before.read_text(encoding="utf-8"))["answers"] if before else {}
    with tempfile.TemporaryDirectory(prefix="headrace-mutants-") as name:
        source = Path(name, "src")
        copy_with(mutants, ROOT / "src", source)
        answers = Path(name, "answers.json")
        job = {
            "mutants": [mutant.number for mutant in mutants if is_tried(mutant, earlier)],
            "answers": str(answers),
            "first": {number: test for number, (found, test) in earlier.items() if found == CAUGHT},
        }
        path = os.pathsep.join([str(source), str(tests), str(ROOT)])
        environment = {**os.environ, "PYTHONPATH": path, "HEADRACE_MUTANTS": json.dumps(job)}
        command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.mutants.plugin"]
        command += ["-p", "no:xdist", "-p", "no:cacheprovider"]
        command += ["-o", f"pythonpath={source} . examples"]
        command += ["-m", "not spark and not proof", *(select or [])]
        subprocess.run(command, cwd=tests, env=environment, check=True)
        found = json.loads(answers.read_text(encoding="utf-8"))
    for mutant in mutants:
        kind, _ = found.setdefault(str(mutant.number), earlier.get(str(mutant.number)))
        if kind != CAUGHT:
            print(f"{kind}: {mutant}")
    print(f"seed {seed}: {dict(Counter(kind for kind, _ in found.values()))}")
    result = {"seed": seed, "answers": found, "mutants": {m.number: str(m) for m in mutants}}
    out.write_text(json.dumps(result, indent=1), encoding="utf-8")
    lost = [n for n, (kind, _) in earlier.items() if kind == CAUGHT and found[n][0] != CAUGHT]
    for number in lost:
        print(f"caught before, and now {found[number][0]}: {mutants[int(number)]}")
    raise SystemExit(bool(lost))


def is_tried(mutant: Mutant, earlier: dict[str, Any]) -> bool:
    """Whether the tests are run on it: not again where nothing caught it before."""
    return not earlier or earlier[str(mutant.number)][0] == CAUGHT


if __name__ == "__main__":
    typer.run(main)
