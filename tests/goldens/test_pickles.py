"""The look into pickles finds what it looks for."""

from __future__ import annotations

import pickle

from headrace.common import Row
from headrace.runtime.coordination.offset import WorkLimits
from headrace.runtime.tasks.source_task import SplitState
from tests.goldens.pickles import of_headrace


def test_a_class_of_headrace_would_be_seen() -> None:
    inner = pickle.dumps([SplitState(5, {}), SplitState(6, {})], 5)
    for protocol in (4, 5):
        data = pickle.dumps(
            {"a": [WorkLimits(1, 2), inner], "b": (WorkLimits(3, 4), Row(a=1))}, protocol
        )
        assert of_headrace(data) == {
            "headrace.runtime.coordination.offset.WorkLimits",
            "headrace.runtime.tasks.source_task.SplitState",
        }
    assert of_headrace(pickle.dumps([Row(a=1), "headrace.reduce", b"x"], 5)) == set()
