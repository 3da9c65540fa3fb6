"""Some of the programs on Spark: all of them are one job, as a job costs seconds."""

from __future__ import annotations

from typing import Any

from tests.pipelines.on_spark import by_name, joined

from .answers import Seed, answer
from .recording import Digests

PROGRAMS = 6
VARIANTS = {"spark-stream": "STREAMING", "spark-batch": "BATCH"}
MOST_RECORDS = 40
"""In a micro-batch, of each source."""

NOTHING = "-"
"""In place of the digest of a whole answer: the order of its records is not recorded."""


def digests_on_spark() -> dict[int, Digests]:
    """What the first programs without a fault answer, as a stream and as a batch.

    Of the results only what does not depend on how tasks take turns is compared: the records of
    each key, whatever their order; the last one, where only that is certain.
    """
    seeds = [seed for seed in map(Seed.of, range(2 * PROGRAMS)) if seed.fault is None][:PROGRAMS]
    found: dict[int, Digests] = {seed.number: {} for seed in seeds}
    for variant, mode in VARIANTS.items():
        settings = {
            "execution.runtime-mode": mode,
            "headrace.source.max-records-per-batch": str(MOST_RECORDS),
        }
        built, together = joined([seed.program for seed in seeds], settings)
        collected: Any = together.execute_and_collect()
        with collected:
            results = by_name(len(seeds), collected)
        for seed, one, records in zip(seeds, built, results, strict=True):
            for name, flow in one.ends().items():
                if mode == "STREAMING" or flow.timely:
                    flow.check(records.get(name, []), (seed.number, variant, name))
            digest, _ = answer(one, records, sort=True).digests()
            found[seed.number][variant] = digest, NOTHING
    return found
