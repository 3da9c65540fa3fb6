"""What programs are tested with, and what connectors are held to.

    from headrace.testing import KeyedHarness, ManualClock, ProcessHarness, run_pipeline

Everything is imported when it is asked for: the contract suites want pytest, the rest does not.
The names are listed in ``__init__.pyi``.
"""

from headrace._lazy_exports import stub_exports

__all__, __getattr__, __dir__ = stub_exports(__name__)
