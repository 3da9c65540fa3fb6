"""``CompiledPlan`` is refused."""

from headrace.common._unsupported import unsupported

__all__ = ["CompiledPlan"]

CompiledPlan = unsupported(
    "headrace.table.compiled_plan.CompiledPlan",
    "plans are not stored: state is found by ids of what operators compute",
)
