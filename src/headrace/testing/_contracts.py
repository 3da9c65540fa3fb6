"""What every source and sink must do, as test suites to inherit from.

    class TestMySource(SourceContract):
        def make_source(self, folder): return MySource(...)
        def expected(self): return [1, 2, 3]

pytest collects the inherited tests. ``folder`` is a fresh ``pathlib.Path`` for each test. Sources
are read through the engine's own coordinator.
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
