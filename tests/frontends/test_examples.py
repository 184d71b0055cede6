from __future__ import annotations

from pathlib import Path

import pytest

from kernelcast.execution.arguments import match_arguments
from kernelcast.frontends import LaunchFlags, check_launch, load, read_workload
from kernelcast.toolchain.nvrtc import CompileOptions

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("compute_capability", [(7, 5), (9, 0), (12, 0)])
@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.cu")), ids=lambda path: path.stem)
def test_an_example_compiles_and_its_launches_fit(
    file: Path, compute_capability: tuple[int, int]
) -> None:
    work = read_workload(file)
    module = load(
        file,
        compute_capability=compute_capability,
        kernels=[launch.kernel for launch in work.launches],
    )
    for launch in work.launches:
        kernel = module.kernel(launch.kernel)
        fitted = check_launch(kernel, launch)
        assert len(match_arguments(kernel, fitted)) == len(kernel.parameters)
        assert all(p.label for p in kernel.parameters), "the source shows every parameter"


def test_the_tile_of_matmul_is_chosen_by_flags() -> None:
    file = EXAMPLES / "matmul_tiled.cu"
    flags = LaunchFlags(kernel="matmul_tiled<32>", args=("N=512", "TILE=32"))
    (launch,) = read_workload(file, flags).launches
    assert (launch.grid, launch.block) == ((16, 16, 1), (32, 32, 1))
    kernel = load(file, kernels=[launch.kernel]).kernel(launch.kernel)
    assert kernel.resources.static_shared_bytes == 2 * 32 * 32 * 4


def test_the_padding_of_transpose_is_chosen_by_define() -> None:
    file = EXAMPLES / "transpose.cu"
    padded = load(file, options=CompileOptions(defines=("PAD=1",)))
    assert load(file).kernel().resources.static_shared_bytes == 32 * 32 * 4
    assert padded.kernel().resources.static_shared_bytes == 32 * 33 * 4
