"""Names of kernels as short as they can be told by."""

from __future__ import annotations

import pytest

from kernelcast.reporting.kernel_names import short_launch, short_name

SCAN = "cub::_V_1::detail::scan::DeviceScanKernel<cub::policy_selector<thrust::pointer<float>>>"


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("gemm<128, 128, 8, 8>", "gemm<128, 128, 8, 8>"),
        (SCAN, "cub::...::DeviceScanKernel<...>"),
        ("a::b<c::d, 4>::" + "k" * 60, "a::...::" + "k" * 60),
        ("one_word_" * 9, "one_word_" * 9),
    ],
)
def test_a_long_name_is_told_without_what_it_is_made_of(name: str, short: str) -> None:
    assert short_name(name) == short
    assert short_launch(f"{name}<<<6, 128>>>") == f"{short}<<<6, 128>>>"
