"""Names of side outputs."""

from headrace.common.output_tag import OutputTag

__all__ = ["OutputTag"]
