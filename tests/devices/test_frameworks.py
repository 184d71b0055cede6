"""What compiles kernels itself runs unmodified on the virtual device, by the driver's API."""

from __future__ import annotations

import re
import sys
from importlib.util import find_spec

import pytest

from kernelcast.devices.shim.build import SOURCES
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


def test_functions_and_errors_of_the_driver_are_those_of_the_vendors_header():
    text = header("cuda.h")
    public = set(re.findall(r"\b(cu[A-Z]\w+)\(", text))
    public |= set(re.findall(r"#define\s+cu[A-Z]\w+\s+(cu[A-Z]\w+)\n", text))
    source = "".join(path.read_text() for path in SOURCES.glob("driver*"))
    defined = set(re.findall(r"^KC_API error (cu[A-Z]\w+)\(", source, re.MULTILINE))
    assert len(defined) > 100
    assert defined <= public
    numbers = {name: int(n) for name, n in re.findall(r"(CUDA_\w+)\s*=\s*(\d+)", text)}
    # Some errors are the runtime's alone: the driver has a more general name for them.
    for number, _, driver in errors():
        assert numbers[driver] == number or number in (9, 12, 13, 21, 52, 98)
