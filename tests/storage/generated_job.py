"""``python -m tests.storage.generated_job BASE SEED EXAMPLES PROGRAMS [KEY=VALUE ...]``.

Each example is a job of so many generated programs. It runs as a batch, and as a stream that is
stopped twice and goes on changed; the results are those of the model. Files and checkpoints are in
folders of BASE. It is a program of its own, as a process has one Spark session, and that one
storage.
"""

from __future__ import annotations

import os
import sys

from headrace.common._options.catalogue import spark_settings
from headrace.common._storage.locations import use_access
from headrace.runners.hadoop_files import access_without_spark
from tests.pipelines.draws import Seeded
from tests.pipelines.on_spark import (
    ChangedPrograms,
    check,
    drawn_changed,
    joined,
    results_in,
    run_until,
    write_inputs,
)


def main() -> None:
    base, (seed, examples, programs) = sys.argv[1], map(int, sys.argv[2:5])
    settings = dict(setting.split("=", 1) for setting in sys.argv[5:])
    access = access_without_spark(spark_settings(settings), os.environ)
    for number in range(seed, seed + examples):
        use_access(access)
        try:
            run(f"{base}/{number}", drawn_changed(Seeded(number), programs), settings)
        except BaseException as error:
            error.add_note(f"The programs are those of seed {number}.")
            raise


def run(base: str, changed: ChangedPrograms, settings: dict[str, str]) -> None:
    """Run an example."""
    inputs = f"{base}/in"
    write_inputs(changed.programs, inputs)
    batch = {**settings, "execution.runtime-mode": "BATCH"}
    built, together = joined(changed.programs, batch, inputs=inputs)
    run_until(together, f"{base}/batch")
    results = results_in(f"{base}/batch", len(changed.programs))
    check(built, results, batch=True, where="batch")
    changed.run(f"{base}/stream", settings, inputs)


if __name__ == "__main__":
    main()
