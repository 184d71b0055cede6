"""How long a launch may be executed, by a clock that the tests turn."""

import pytest

from kernelcast.cli.progress import telling
from kernelcast.errors import TimeLimitError
from kernelcast.profiling.time_limit import duration, limited


class Clock:
    """Shows what it is set to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_without_a_limit_progress_is_that_of_before() -> None:
    shares: list[float] = []
    assert limited(shares.append, None, 8) == shares.append
    assert limited(None, None, 8) is None


def test_what_is_fast_enough_goes_on_to_its_end() -> None:
    clock, shares = Clock(), list[float]()
    progress = limited(shares.append, 100.0, 1000, clock)
    assert progress is not None
    for step in range(101):
        clock.now = 0.99 * step
        progress(step / 100)
    assert len(shares) == 101


def test_what_will_take_too_long_ends_early_and_says_what_would_fit() -> None:
    clock = Clock()
    progress = limited(None, 60.0, 1_000_000, clock)
    assert progress is not None
    progress(0.0)
    clock.now = 5.0
    progress(0.001)
    clock.now = 7.0
    with pytest.raises(
        TimeLimitError, match=r"1000000 blocks takes about 1.94 h here, more than the limit of 60 s"
    ) as e:
        progress(0.001)
    assert "--sample 8571" in e.value.hint


def test_what_shows_no_progress_ends_with_the_time() -> None:
    clock = Clock()
    progress = limited(None, 60.0, 10, clock)
    assert progress is not None
    progress(0.0)
    clock.now = 60.5
    with pytest.raises(TimeLimitError):
        progress(0.0)


def test_how_long_is_told_once_where_it_is_long() -> None:
    clock, told = Clock(), list[str]()
    progress = telling(None, told.append, clock)
    for now, share in (
        (1.0, 0.001),
        (2.5, 0.5),
        (4.0, 0.9),
        (4.1, 0.0),
        (6.2, 0.001),
        (9.0, 0.002),
    ):
        clock.now = now
        progress(share)
    assert len(told) == 1
    assert told[0].startswith("executing all blocks takes about 35 min; --sample BLOCKS")


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.5, "0.5 s"), (99.0, "99 s"), (120.0, "2 min"), (7200.0, "2 h")]
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text
