"""``PlanReference`` is refused."""

from headrace.common._unsupported import unsupported

__all__ = ["PlanReference"]

_REASON = "plans are not stored: state is found by ids of what operators compute"

PlanReference = unsupported("headrace.table.plan_reference.PlanReference", _REASON)
JsonContentPlanReference = unsupported(
    "headrace.table.plan_reference.JsonContentPlanReference", _REASON
)
FilePlanReference = unsupported("headrace.table.plan_reference.FilePlanReference", _REASON)
BytesContentPlanReference = unsupported(
    "headrace.table.plan_reference.BytesContentPlanReference", _REASON
)
