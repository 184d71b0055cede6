"""What compiles kernels itself runs unmodified on the virtual device, by the driver's API."""

from __future__ import annotations

import re
import sys
from importlib.util import find_spec

import pytest

from kernelcast.devices.libraries import libraries
from kernelcast.devices.shim.build import SOURCES
from kernelcast.toolchain.nvcc import ProgramOptions, compile_program
from kernelcast.toolchain.wheels import find_in_wheels
from tests.devices.conftest import PROGRAMS
from tests.devices.test_parts import errors, header

A100 = ("--gpu", "a100-sxm-80gb")


@pytest.mark.parametrize(
    ("framework", "program", "printed", "kernel"),
    [
        ("numba_cuda", "numba_dot.py", "True True\nTrue\nTrue\n", "dot"),
        ("triton", "triton_add.py", "True\n", "add"),
    ],
)
def test_a_framework_runs_unmodified(ended, built, framework, program, printed, kernel):
    if find_spec(framework) is None:
        pytest.skip(f"{framework} is not installed")
    done = ended(*A100, sys.executable, "-W", "ignore", PROGRAMS / program)
    assert done.printed == printed
    assert done.status == 0
    (row,) = done.profile["kernels"]
    assert row["kernel"].endswith(kernel)
    assert row["sampled"] == 1


def test_the_driver_has_graphs_and_launches_of_old(ended, built):
    built("vector_add")  # skips where the libraries cannot be made
    done = ended(*A100, sys.executable, PROGRAMS / "driver_graphs.py")
    assert done.printed.splitlines() == [
        "no context 201",
        "errors b''",
        "captured 1 0",
        "replayed [6] 5",
        "built [17]",
        "changed [27]",
        "launched [127]",
        "not supported 801 500 None",
    ]
    assert done.said == "kernelcast: cuGreenCtxCreate is not supported by the virtual device\n"
    (kernel,) = done.profile["kernels"]
    assert kernel["launches"] == 3 * 5 + 1 + 1 + 1


def test_tensors_of_pytorch_are_computed_by_its_own_kernels(ended, built):
    if find_spec("torch") is None:
        pytest.skip("torch is not installed")
    done = ended(*A100, sys.executable, "-W", "ignore", PROGRAMS / "torch_ops.py")
    assert done.printed == "True\n" * 6
    assert done.status == 0


def test_our_runtime_comes_before_the_one_that_a_program_names(ended, built, tmp_path):
    """As PyTorch does: a path of its own, in which the vendor's runtime lies."""
    found = find_in_wheels("cu*/lib/libcudart.so.*")
    if not found:
        pytest.skip("the vendor's runtime is not installed")
    built("vector_add")  # skips without the compilers
    linked = ("-Xlinker", "--disable-new-dtags", "-Xlinker", f"-rpath={found[0].parent}")
    source = PROGRAMS / "vector_add.cu"
    options = ProgramOptions(further=linked)
    program = tmp_path / "add"
    program.write_bytes(compile_program(source, [(8, 0)], libraries(), options=options))
    program.chmod(0o700)
    done = ended(*A100, program, 1000)
    assert (done.printed, done.status) == ("cudaSuccess, 0 wrong\n", 0)


def test_functions_and_errors_of_the_driver_are_those_of_the_vendors_header():
    text = header("cuda.h")
    public = set(re.findall(r"\b(cu[A-Z]\w+)\(", text))
    public |= set(re.findall(r"#define\s+cu[A-Z]\w+\s+(cu[A-Z]\w+)\s*\n", text))
    source = "".join(path.read_text() for path in SOURCES.glob("driver*"))
    defined = set(re.findall(r"^KC_API error (cu[A-Z]\w+)\(", source, re.MULTILINE))
    assert len(defined) > 100
    assert defined <= public
    numbers = {name: int(n) for name, n in re.findall(r"(CUDA_\w+)\s*=\s*(\d+)", text)}
    # Some errors are the runtime's alone: the driver has a more general name for them.
    for number, _, driver in errors():
        assert numbers[driver] == number or number in (9, 12, 13, 21, 52, 98)
