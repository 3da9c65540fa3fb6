"""``JavaObjectWrapper`` at PyFlink's path; there is no JVM to wrap objects of."""

from __future__ import annotations

from headrace.common._unsupported import unsupported

__all__ = ["JavaObjectWrapper"]

JavaObjectWrapper = unsupported(
    "headrace.common.utils.JavaObjectWrapper", "there is no Flink JVM to wrap objects of"
)
