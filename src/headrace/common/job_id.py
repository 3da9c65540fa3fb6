"""``JobID``: identifies one run of a job."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.errors import PlanError

__all__ = ["JobID"]

_HEX_DIGITS = frozenset("0123456789abcdef")


@dataclass(frozen=True, order=True)
class JobID:
    """Identifies one run of a job: 32 lower-case hexadecimal digits, chosen by the runner."""

    hex: str

    def __post_init__(self) -> None:
        if len(self.hex) != 32 or not _HEX_DIGITS.issuperset(self.hex):
            raise PlanError(
                f"{self.hex!r} is not a job id",
                hint="a job id has 32 lower-case hexadecimal digits",
            )

    def __str__(self) -> str:
        return self.hex
