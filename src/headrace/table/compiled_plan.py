"""``CompiledPlan`` is refused."""

from headrace.common._unsupported import unsupported

__all__ = ["CompiledPlan"]

CompiledPlan = unsupported(
    "headrace.table.compiled_plan.CompiledPlan",
    "plans are not stored: a job's state goes on by ids of what it computes",
)
