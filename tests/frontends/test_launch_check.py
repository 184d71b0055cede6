from __future__ import annotations

import pytest

from kernelcast.errors import LaunchError
from kernelcast.frontends import check_launch
from kernelcast.ir import Array, Kernel, Launch, Parameter, Resources

KERNEL = Kernel(
    name="saxpy",
    isa="ptx",
    target="sm_90",
    parameters=(
        Parameter("saxpy_param_0", "u32", 4, 0, label="n"),
        Parameter("saxpy_param_1", "u64", 8, 8, label="x", is_pointer=True),
    ),
    instructions=(),
    blocks=(),
    resources=Resources(max_threads_per_block=128),
)
X = Array("f32", (4,))


def launch(block: int = 32, **args: object) -> Launch:
    return Launch((1, 1, 1), (block, 1, 1), args)  # type: ignore[arg-type]


def test_arguments_with_the_kernels_names_come_into_its_order() -> None:
    assert list(check_launch(KERNEL, launch(x=X, n=4)).args.items()) == [("n", 4), ("x", X)]


def test_arguments_with_other_names_stay_as_they_stand() -> None:
    given = launch(count=4, buffer=X)
    assert check_launch(KERNEL, given) == given
    assert list(check_launch(KERNEL, launch(x=X)).args) == ["x"]


def test_a_block_larger_than_the_kernels_bound_is_refused() -> None:
    check_launch(KERNEL, launch(128, n=4, x=X))
    with pytest.raises(LaunchError, match="at most 128"):
        check_launch(KERNEL, launch(129, n=4, x=X))
