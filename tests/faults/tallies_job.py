"""``headrace run tests/faults/tallies_job.py FOLDER [KEY=VALUE ...]``: a job of some seconds."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.spark import test_savepoints as tallies


def main() -> None:
    folder = Path(sys.argv[1])
    settings = dict(argument.split("=", 1) for argument in sys.argv[2:])
    env = tallies.environment(folder, 0, **settings)
    tallies.build(env, folder, 0)
    env.execute("tallies")


if __name__ == "__main__":
    main()
