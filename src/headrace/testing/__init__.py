"""Tools to test programs, functions and connectors without Spark.

    from headrace.testing import KeyedHarness, ManualClock, ProcessHarness, run_pipeline

Names are imported on first use, because only the contract suites need pytest. They are listed in
``__init__.pyi``.
"""

from headrace._lazy_exports import stub_exports

__all__, __getattr__, __dir__ = stub_exports(__name__)
