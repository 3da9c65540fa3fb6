"""``JobExecutionResult``: the result of a job that has ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.common.job_id import JobID

__all__ = ["JobExecutionResult"]


class JobExecutionResult:
    """The id, the run time and the accumulators of a job that has ended."""

    def __init__(
        self, job_id: JobID, net_runtime_ms: int, accumulators: Mapping[str, Any] | None = None
    ) -> None:
        self._job_id = job_id
        self._net_runtime_ms = net_runtime_ms
        self._accumulators = dict(accumulators or {})

    def get_job_id(self) -> JobID:
        """Return the id of the run."""
        return self._job_id

    def get_net_runtime(self) -> int:
        """Return the milliseconds from the start of the first task to the end of the last one."""
        return self._net_runtime_ms

    def get_accumulator_result(self, accumulator_name: str) -> Any:
        """Return the value of an accumulator; None if there is no accumulator of this name."""
        return self._accumulators.get(accumulator_name)

    def get_all_accumulator_results(self) -> dict[str, Any]:
        """Return the values of all accumulators, by name."""
        return dict(self._accumulators)

    def __str__(self) -> str:
        lines = [
            f"job {self._job_id} ended after {self._net_runtime_ms} ms",
            *(f"  {name}: {value}" for name, value in sorted(self._accumulators.items())),
        ]
        return "\n".join(lines)
