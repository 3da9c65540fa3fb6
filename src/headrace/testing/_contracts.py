"""Test suites for connectors: every source and every exactly-once sink must pass them.

    class TestMySource(SourceContract):
        def make_source(self, folder): return MySource(...)
        def expected(self): return [1, 2, 3]

A test class inherits from a suite, and pytest collects the inherited tests. ``folder`` is a new
``pathlib.Path`` for each test. Sources are read through the engine's own coordinator.
"""

from headrace.testing._reading import (
    NO_LIMIT,
    START_MS,
    Planner,
    Reading,
    read_source,
    through_json,
)
from headrace.testing._sink_contract import SinkContract
from headrace.testing._source_contract import SourceContract

__all__ = [
    "NO_LIMIT",
    "START_MS",
    "Planner",
    "Reading",
    "SinkContract",
    "SourceContract",
    "read_source",
    "through_json",
]
