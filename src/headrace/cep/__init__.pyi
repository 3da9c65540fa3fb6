# The public names, by the modules that define them. The package reads this file.

from headrace.cep.conditions import (
    BooleanConditions as BooleanConditions,
    IterativeCondition as IterativeCondition,
    RichAndCondition as RichAndCondition,
    RichCompositeIterativeCondition as RichCompositeIterativeCondition,
    RichIterativeCondition as RichIterativeCondition,
    RichNotCondition as RichNotCondition,
    RichOrCondition as RichOrCondition,
    SimpleCondition as SimpleCondition,
    SubtypeCondition as SubtypeCondition,
)
from headrace.cep.functions import (
    EventComparator as EventComparator,
    PatternFlatSelectFunction as PatternFlatSelectFunction,
    PatternFlatTimeoutFunction as PatternFlatTimeoutFunction,
    PatternProcessFunction as PatternProcessFunction,
    PatternSelectFunction as PatternSelectFunction,
    PatternTimeoutFunction as PatternTimeoutFunction,
    RichPatternFlatSelectFunction as RichPatternFlatSelectFunction,
    RichPatternSelectFunction as RichPatternSelectFunction,
    TimedOutPartialMatchHandler as TimedOutPartialMatchHandler,
)
from headrace.cep.pattern import (
    GroupPattern as GroupPattern,
    Pattern as Pattern,
    Quantifier as Quantifier,
    WithinType as WithinType,
)
from headrace.cep.pattern_registry import (
    PatternRegistry as PatternRegistry,
    pattern_from as pattern_from,
)
from headrace.cep.pattern_stream import (
    CEP as CEP,
    DynamicPatternStream as DynamicPatternStream,
    PatternStream as PatternStream,
)
from headrace.cep.skip_strategy import (
    AfterMatchSkipStrategy as AfterMatchSkipStrategy,
    SkipToElementStrategy as SkipToElementStrategy,
)
from headrace.errors import MalformedPatternError as MalformedPatternError
from headrace.operators.patterns.operator import Overflow as Overflow
