"""The state of a savepoint as tables of Spark: ``Savepoint.load(url).read(uid, name)``."""

from headrace.state._savepoint import Savepoint, StateDifference, StateInfo

__all__ = ["Savepoint", "StateDifference", "StateInfo"]
