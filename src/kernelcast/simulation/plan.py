"""Which SMs are simulated in detail, and which blocks each of them gets."""

from __future__ import annotations

from dataclasses import dataclass, field

MOST_SMS = 4
"""SMs in detail: what several ask of the chip is smoother than what one does."""
_WAVES, _FEWEST_WAVES = 3, 2
"""Waves of blocks that an SM goes through: in the first, blocks begin together and with empty
caches, so that it tells little of those that are left out. Two where three are too many."""
_GOLDEN = 0.618
"""Of the SMs, from one wave to the next: multiples of it lie evenly between 0 and 1."""


@dataclass(frozen=True)
class DetailedSms:
    """SMs that are simulated, by the blocks of the grid that each executes, in order.

    `of` are the blocks of the grid, `busiest` those of an SM that gets the most, and `share` is
    what falls to the SMs in detail, whether it is simulated or not. SMs with more blocks ask the
    chip for more, and get it: of 79 blocks on 68 SMs those with two have 2/79 of the DRAM each.
    """

    of: int
    blocks: tuple[tuple[int, ...], ...] = field(repr=False)
    busiest: int
    share: float

    @property
    def simulated(self) -> int:
        """Blocks of the SM that gets the most of them."""
        return max(map(len, self.blocks))

    @property
    def is_whole(self) -> bool:
        """Whether that SM executes all of its blocks."""
        return self.simulated == self.busiest


def detailed_sms(
    of: int,
    sms: int,
    resident: int,
    affordable: float,
    wanted: int | None = None,
    most: int = MOST_SMS,
    heaviest: int | None = None,
    are_uneven: bool = False,
) -> DetailedSms:
    """Choose SMs of `sms`, each with `resident` blocks at a time, and blocks for them.

    Block b of the grid starts on SM b modulo their number. Of a grid that is too large, every SM
    gets whole rounds of blocks, evenly spaced, as many as leave the same number in its last wave.
    The first SM is one of them, and of several the one with the last block of the grid: that may
    have to do all that others leave. Where all blocks are there at once, nobody takes over from an
    SM that has more to do: then the `heaviest` one comes before both.

    Parameters
    ----------
    of:
        Blocks of the grid.
    affordable:
        Blocks that may be simulated altogether.
    wanted:
        How many SMs to simulate, None to leave it to what is affordable.
    most:
        How many at the most where that is left.
    heaviest:
        The SM whose blocks have the most to do altogether, None where that is not known.
    are_uneven:
        Whether blocks differ so much that they end in another order than they began. Then an SM
        gets those of the next waves from all over the grid, and not always from the same column of
        an image whose rows have as many blocks as the chip has SMs.
    """
    busy = min(sms, of)
    busiest = -(-of // sms)
    # As many SMs as can go through enough waves, and where all are asked for, a last one, too.
    are_all = most >= busy > MOST_SMS
    wave = resident * (busy if are_all else 1)
    enough = resident * (_WAVES if affordable >= _WAVES * wave else _FEWEST_WAVES)
    least = min(busiest, enough + (resident - 1 if are_all else 0))
    count = min(busy, most, max(1, int(affordable // least)))
    count = min(busy, wanted) if wanted else count
    rounds = _rounds(busiest, resident, affordable / count, enough)
    step = round(_GOLDEN * sms) if are_uneven else 0

    def moved(round_: int) -> int:
        """How many SMs further the blocks of a round lie than those of the first wave."""
        return step * max(0, round_ - resident + 1)

    def sm_of(block: int) -> int:
        return (block - moved(block // sms)) % sms

    chosen = [k * busy // count for k in range(count)]
    if count > 1 and (last := sm_of(of - 1)) not in chosen:
        chosen[-1] = last
    if heaviest is not None and busiest <= resident and heaviest not in chosen:
        chosen[len(chosen) // 2] = heaviest
    places = [k * (busiest - 1) // max(1, rounds - 1) for k in range(rounds)]
    blocks = tuple(
        tuple(
            block for round_ in places if (block := round_ * sms + (sm + moved(round_)) % sms) < of
        )
        for sm in sorted(chosen)
    )
    share = sum(-(-(of - sm) // sms) for sm in chosen) / of
    return DetailedSms(of, blocks, busiest, share)


def _rounds(busiest: int, resident: int, affordable: float, enough: int) -> int:
    """Blocks of an SM: all, or `enough` and more, with as many in the last wave as there are."""
    if busiest <= affordable or busiest <= enough:
        return busiest
    most = max(enough, int(affordable))
    surplus = (most - busiest) % resident
    fewer = most - surplus
    return fewer if fewer >= enough else min(busiest, fewer + resident)
