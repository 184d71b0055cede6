"""What the numbers of a machine say of its pipes."""

from __future__ import annotations

import pytest

from kernelcast.machines.classes import shares_fp64
from kernelcast.machines.loader import apply_overrides, load_machine


@pytest.mark.parametrize(
    ("gpu", "is_shared"),
    [
        ("gtx-1080", True),
        ("rtx-3080", True),
        ("rtx-4090", True),
        ("b300", True),
        ("p100-sxm2", False),
        ("v100-sxm2", False),
        ("h100-sxm", False),
    ],
)
def test_schedulers_share_double_precision_where_it_is_for_compatibility(
    gpu: str, is_shared: bool
) -> None:
    assert shares_fp64(load_machine(gpu)) is is_shared


def test_a_rate_of_conversions_of_their_own_does_not_move_them() -> None:
    slower = apply_overrides(load_machine("rtx-3080"), ["throughput.convert64=1.0"])
    assert shares_fp64(slower)
