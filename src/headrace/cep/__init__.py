"""Patterns of events: Flink's CEP library in Python.

``CEP.pattern(stream, Pattern.begin(...)...)`` looks for a pattern in a stream.
"""

from headrace.cep.conditions import (
    IterativeCondition,
    RichIterativeCondition,
    SimpleCondition,
)
from headrace.cep.functions import (
    EventComparator,
    PatternFlatSelectFunction,
    PatternFlatTimeoutFunction,
    PatternProcessFunction,
    PatternSelectFunction,
    PatternTimeoutFunction,
    TimedOutPartialMatchHandler,
)
from headrace.cep.pattern import GroupPattern, Pattern, WithinType
from headrace.cep.pattern_stream import CEP, PatternStream
from headrace.cep.skip_strategy import AfterMatchSkipStrategy
from headrace.errors import MalformedPatternError
from headrace.operators.patterns.operator import Overflow

__all__ = [
    "CEP",
    "AfterMatchSkipStrategy",
    "EventComparator",
    "GroupPattern",
    "IterativeCondition",
    "MalformedPatternError",
    "Overflow",
    "Pattern",
    "PatternFlatSelectFunction",
    "PatternFlatTimeoutFunction",
    "PatternProcessFunction",
    "PatternSelectFunction",
    "PatternStream",
    "PatternTimeoutFunction",
    "RichIterativeCondition",
    "SimpleCondition",
    "TimedOutPartialMatchHandler",
    "WithinType",
]
