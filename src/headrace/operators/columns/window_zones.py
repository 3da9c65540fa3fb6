"""Windows of local time: as long as clocks say, so shorter or longer where clocks are changed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cached_property
from typing import TYPE_CHECKING, Any

from headrace.common._time_zones import zone_of

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

_EPOCH = datetime(1970, 1, 1)
_FIRST_MS, _LAST_MS = -62_000_000_000_000, 253_000_000_000_000
"""Beyond these, the years that ``datetime`` has, moments and local times are not told apart."""


@dataclass(frozen=True)
class LocalTime:
    """Converts between moments and the local times of a zone; both are numbers of ms."""

    zone: str

    @cached_property
    def _zone(self) -> tzinfo:
        return zone_of(self.zone)

    def of_moments(self, moments: Array) -> Array:
        """Return the local times of moments."""
        import pyarrow as pa
        import pyarrow.compute as pc

        zoned = pa.array(moments, pa.int64()).cast(pa.timestamp("ms", self.zone))
        found: Array = pc.local_timestamp(zoned).cast(pa.int64()).to_numpy()
        return found

    def to_moments(self, times: Array) -> Array:
        """Return the moments of local times, as Java does where clocks are changed.

        Of two moments it is the earlier one; a time that does not occur is later by the gap.
        """
        import numpy as np

        distinct, places = np.unique(times, return_inverse=True)
        moments = np.array([self._moment(each) for each in distinct.tolist()], np.int64)
        found: Array = moments[places]
        return found

    def _moment(self, time: int) -> int:
        if not _FIRST_MS < time < _LAST_MS:
            return time
        return time - self._offset_ms(_EPOCH + timedelta(milliseconds=time))

    def reached(self, watermark: int) -> int:
        """Return up to which local time, inclusively, windows have ended by a watermark.

        A time that occurs twice is over when it has been for the second time.
        """
        if not _FIRST_MS < watermark < _LAST_MS:
            return watermark
        local = self._local(watermark)
        at = _EPOCH + timedelta(milliseconds=local)
        before, after = self._offset_ms(at), self._offset_ms(at.replace(fold=1))
        if before <= after or watermark != local - before:
            return local
        earlier, later = watermark, local - after  # clocks are put back in between
        while later - earlier > 1:
            middle = (earlier + later) // 2
            if self._local(middle) - middle == before:
                earlier = middle
            else:
                later = middle
        return self._local(later) - 1

    def over_at(self, time: int) -> int:
        """Return the first watermark by which a local time is reached."""
        moment = self._moment(time)
        if self.reached(moment) >= time or not _FIRST_MS < time < _LAST_MS:
            return moment
        return time - self._offset_ms((_EPOCH + timedelta(milliseconds=time)).replace(fold=1))

    def _local(self, moment: int) -> int:
        at = (_EPOCH + timedelta(milliseconds=moment)).replace(tzinfo=UTC).astimezone(self._zone)
        return (at.replace(tzinfo=None) - _EPOCH) // timedelta(milliseconds=1)

    def _offset_ms(self, time: datetime) -> int:
        offset = time.replace(tzinfo=self._zone).utcoffset()
        assert offset is not None, "a zone has an offset"
        return offset // timedelta(milliseconds=1)
