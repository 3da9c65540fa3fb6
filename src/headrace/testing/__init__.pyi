# The public names, by the modules that define them. The package reads this file.

from headrace.testing._clock import ManualClock as ManualClock
from headrace.testing._contracts import (
    SinkContract as SinkContract,
    SourceContract as SourceContract,
)
from headrace.testing._harness import (
    KeyedHarness as KeyedHarness,
    PendingTimer as PendingTimer,
    ProcessHarness as ProcessHarness,
)
from headrace.testing._pipeline import (
    PipelineResults as PipelineResults,
    run_pipeline as run_pipeline,
)
from headrace.testing._snapshot import Snapshot as Snapshot
