"""``python -m tests.faults.trades_job OUTPUT DAY [KEY=VALUE ...]``: the trades job as a stream."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.trades.results import run_job


def main() -> None:
    output, day = Path(sys.argv[1]), Path(sys.argv[2])
    settings = dict(argument.split("=", 1) for argument in sys.argv[3:])
    # The test starts it many times: the quick compiler alone makes a start a fifth shorter.
    quick = {"headrace.spark.conf.spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1"}
    run_job(
        day, output, {**quick, "execution.checkpointing.dir": f"{output}-checkpoint", **settings}
    )


if __name__ == "__main__":
    main()
