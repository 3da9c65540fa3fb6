"""Restart strategies on a clock of the test's own."""

from __future__ import annotations

import errno

import pytest

from headrace.common._storage.object_store import access_error
from headrace.common.configuration import Configuration
from headrace.errors import CheckpointError, PlanError, SparkEndedError, StorageError
from headrace.runners.restarts import RestartStrategy, restart_strategy, would_fail_again


def restarts(chance: float = 0.0, **settings: str) -> RestartStrategy:
    keys = {f"restart-strategy.{key.replace('__', '.')}": v for key, v in settings.items()}
    keys = {key.replace("_", "-"): value for key, value in keys.items()}
    return restart_strategy(Configuration.from_dict(keys), lambda: chance)


def delays(strategy: RestartStrategy, *times_ms: int) -> list[int | None]:
    return [strategy.delay_ms(at) for at in times_ms]


def test_without_a_strategy_the_first_failure_is_the_last() -> None:
    assert delays(restarts(), 0, 1) == [None, None]
    assert delays(restarts(type="off"), 0) == [None]


def test_fixed_delay_ends_with_its_attempts() -> None:
    strategy = restarts(type="fixed-delay", fixed_delay__attempts="2", fixed_delay__delay="3 s")
    assert delays(strategy, 0, 10, 20, 30) == [3000, 3000, None, None]


def test_failure_rate_forgets_failures_outside_the_interval() -> None:
    strategy = restarts(
        type="failure-rate",
        failure_rate__max_failures_per_interval="2",
        failure_rate__failure_rate_interval="10 s",
        failure_rate__delay="1 s",
    )
    assert delays(strategy, 0, 9_000, 10_000, 11_000) == [1000, 1000, 1000, None]


def test_exponential_delay_grows_up_to_its_limit_and_begins_anew() -> None:
    strategy = restarts(
        type="exponential-delay",
        exponential_delay__initial_backoff="1 s",
        exponential_delay__max_backoff="5 s",
        exponential_delay__backoff_multiplier="2.0",
        exponential_delay__reset_backoff_threshold="1 min",
    )
    assert delays(strategy, 0, 2_000, 5_000, 10_000) == [1000, 2000, 4000, 5000]
    running_since = 10_000 + 5_000
    assert delays(strategy, running_since + 59_999) == [5000]
    assert delays(strategy, running_since + 59_999 + 5_000 + 60_000) == [1000]


def test_exponential_delay_stays_finite_after_thousands_of_failures() -> None:
    strategy = restarts(type="exponential-delay", exponential_delay__jitter_factor="0.0")
    assert [strategy.delay_ms(0) for _ in range(5_000)][-1] == 60_000


def test_jitter_moves_the_wait_by_its_share() -> None:
    def first(chance: float) -> int | None:
        return restarts(
            chance, type="exponential-delay", exponential_delay__jitter_factor="0.25"
        ).delay_ms(0)

    assert (first(-1.0), first(0.0), first(1.0)) == (750, 1000, 1250)


def test_exponential_delay_gives_up_after_its_attempts() -> None:
    strategy = restarts(
        type="exponential-delay",
        exponential_delay__attempts_before_reset_backoff="1",
        exponential_delay__reset_backoff_threshold="1 min",
    )
    assert delays(strategy, 0, 5_000) == [1000, None]


@pytest.mark.parametrize(
    ("cause", "again"),
    [
        (OSError(errno.ENOSPC, "no space left on device"), False),
        (OSError(errno.EDQUOT, "quota exceeded"), False),
        (ConnectionResetError("the peer is gone"), False),
        (TimeoutError("no answer"), False),
        (PermissionError(errno.EACCES, "not this user's"), True),
        (OSError(errno.EROFS, "read-only"), True),
        (NotADirectoryError(errno.ENOTDIR, "a file"), True),
    ],
    ids=repr,
)
def test_a_store_that_may_come_back_is_waited_for(cause: OSError, again: bool) -> None:
    """Whether the same error would come again, however often the job restarts."""
    error = access_error(cause)("a stored object cannot be written")
    assert isinstance(error, CheckpointError)
    assert would_fail_again(error) is again


def test_what_a_restart_does_not_mend() -> None:
    for lasting in (CheckpointError("damaged"), PlanError("no sink"), SparkEndedError("gone")):
        assert would_fail_again(lasting)
    for passing in (ValueError("of a function"), StorageError("disk full"), OSError("gone")):
        assert not would_fail_again(passing)
