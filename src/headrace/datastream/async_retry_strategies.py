"""Retries of asynchronous functions: declared, not part of this release."""

from headrace.common.unsupported import unsupported

_ASYNC = "asynchronous functions are not part of this release"

RetryPredicate = unsupported(f"{__name__}.RetryPredicate", _ASYNC)
NoRetryStrategy = unsupported(f"{__name__}.NoRetryStrategy", _ASYNC)
FixedDelayRetryStrategy = unsupported(f"{__name__}.FixedDelayRetryStrategy", _ASYNC)
ExponentialBackoffDelayRetryStrategy = unsupported(
    f"{__name__}.ExponentialBackoffDelayRetryStrategy", _ASYNC
)
