"""The information about a task that its functions and its backend get."""

from __future__ import annotations

import pytest

from headrace.metrics.metricbase import MetricGroup
from headrace.runtime.context import TaskContext, TaskInfo
from headrace.runtime.state.handles import KeyContext
from headrace.runtime.state.heap import HeapBackend


@pytest.mark.parametrize(("uid", "owner"), [(None, "Sums"), ("s", "Sums (uid=s)")])
def test_errors_of_state_name_the_operator_by_its_uid_too(uid: str | None, owner: str) -> None:
    context = TaskContext("Sums", "job.py:1", TaskInfo(), MetricGroup(), KeyContext(), uid)
    assert context.states is not None
    backend = HeapBackend()
    context.states.attach(backend)
    assert backend.owner == owner
