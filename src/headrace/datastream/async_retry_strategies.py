"""Retry strategies of asynchronous calls, at PyFlink's path."""

from typing import TYPE_CHECKING

from headrace._lazy_exports import lazy_exports
from headrace.datastream._functions.retries import (
    NO_RETRY_STRATEGY,
    ExponentialBackoffDelayRetryStrategy,
    FixedDelayRetryStrategy,
    NoRetryStrategy,
    RetryPredicate,
)

__all__ = [
    "NO_RETRY_STRATEGY",
    "ExponentialBackoffDelayRetryStrategy",
    "FixedDelayRetryStrategy",
    "NoRetryStrategy",
    "RetryPredicate",
]

if not TYPE_CHECKING:  # type checkers find names in their defining modules
    __getattr__ = lazy_exports(__name__)
