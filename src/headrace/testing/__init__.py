"""What programs are tested with, and what connectors are held to.

    from headrace.testing import KeyedHarness, ManualClock, ProcessHarness, run_pipeline

Everything is imported when it is asked for: the contract suites want pytest, the rest does not.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headrace.testing._clock import ManualClock
    from headrace.testing._contracts import SinkContract, SourceContract
    from headrace.testing._harness import KeyedHarness, PendingTimer, ProcessHarness
    from headrace.testing._pipeline import PipelineResults, run_pipeline
    from headrace.testing._snapshot import Snapshot

_HOMES = {
    "KeyedHarness": "_harness",
    "ManualClock": "_clock",
    "PendingTimer": "_harness",
    "PipelineResults": "_pipeline",
    "ProcessHarness": "_harness",
    "SinkContract": "_contracts",
    "Snapshot": "_snapshot",
    "SourceContract": "_contracts",
    "run_pipeline": "_pipeline",
}

__all__ = [
    "KeyedHarness",
    "ManualClock",
    "PendingTimer",
    "PipelineResults",
    "ProcessHarness",
    "SinkContract",
    "Snapshot",
    "SourceContract",
    "run_pipeline",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
