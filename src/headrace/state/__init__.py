"""The state of a job as tables of Spark: read, compared, changed, and made from nothing.

``Savepoint.load(url).read(uid, name)`` reads; ``SavepointWriter`` writes a new savepoint.
"""

from headrace.state._savepoint import Savepoint, StateDifference, StateInfo, spark_session
from headrace.state._writer import SavepointWriter

__all__ = ["Savepoint", "SavepointWriter", "StateDifference", "StateInfo", "spark_session"]
