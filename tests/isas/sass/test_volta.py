"""Volta's machine code: kept code always, new code where NVRTC of CUDA 12 is installed."""

from __future__ import annotations

import re

import pytest
from tests.compiled_families import load_family
from tests.isas.sass import test_meaning_bits as bits
from tests.isas.sass import test_meaning_conversions as conversions
from tests.isas.sass import test_meaning_double as double
from tests.isas.sass import test_meaning_floating as floating
from tests.isas.sass import test_meaning_half as half
from tests.isas.sass.float_kernels import differences
from tests.isas.sass.volta_samples import FAMILIES, read_sample
from tests.kept import CACHE

from kernelcast.errors import KernelcastError, UnsupportedError
from kernelcast.execution.execute import execute
from kernelcast.execution.memory import Memory
from kernelcast.frontends.cubin import read_cubin
from kernelcast.frontends.cuda import compile_source
from kernelcast.frontends.machine_kernel import linked_kernel, listed
from kernelcast.ir import Kernel
from kernelcast.isas.sass import parse_sass
from kernelcast.suite.expected import expected_result
from kernelcast.suite.registry import families
from kernelcast.suite.table import Scale, SuiteKernel
from kernelcast.toolchain.nvdisasm import disassemble

VOLTA = "sm_70"
_INSTRUCTION = re.compile(r"/\*[0-9a-f]{4,}\*/")
_LABEL = re.compile(r"\.L_x?_?\d+")
WORKS = {
    **{("conversions", name): conversions.WORKS for name in conversions.WORKS},
    **{("double", name): double.WORKS for name in double.WORKS},
    **{("floating", name): floating.WORKS for name in floating.WORKS},
    ("half", "k"): {"k": half.F16},
}


@pytest.fixture(scope="module")
def tools() -> None:
    """NVRTC of CUDA 12."""
    text = 'extern "C" __global__ void k(int *a) { *a = 1; }'
    try:
        compile_source(text, name="k.cu", architecture=VOLTA).machine_kernel("k", CACHE)
    except KernelcastError as error:
        pytest.skip(f"no tools for {VOLTA}: {error}")


def check(known: SuiteKernel, kernel: Kernel) -> None:
    launch = known.launches(Scale.SMALL)[0]
    memory = Memory.build(kernel, launch)
    expected = expected_result(known, launch)
    execute(kernel, launch, memory, executor="engine", cache=CACHE)
    assert not (difference := expected.difference(memory)), f"{known.name}: {difference}"


@pytest.mark.parametrize("family", FAMILIES)
def test_any_nvdisasm_reads_it_as_that_of_cuda_12_did(family: str) -> None:
    sample = read_sample(family)
    listing = disassemble(sample.cubin, CACHE)
    assert "EF_CUDA_SM70" in listing
    assert instructions(listing) == instructions(sample.listing)


def instructions(listing: str) -> list[str]:
    """What a listing says at each address, without the numbers of its labels, which differ."""
    lines = (_LABEL.sub("a label", line).strip() for line in listing.splitlines())
    return [line for line in lines if _INSTRUCTION.match(line)]


@pytest.mark.parametrize("family", FAMILIES)
def test_kept_code_computes_what_it_should(family: str) -> None:
    sample = read_sample(family)
    module = parse_sass(sample.listing, f"listing of {family}")
    cubin = read_cubin(sample.cubin, name=family)
    for known in families()[family]:
        label = known.launches(Scale.SMALL)[0].kernel
        mangled = sample.names[label] if label else next(iter(sample.names.values()))
        check(known, linked_kernel(module, cubin, mangled))


@pytest.mark.only_with_all
@pytest.mark.parametrize("family", sorted(families())[1::3])
def test_new_code_computes_what_it_should(tools: None, family: str) -> None:
    try:
        module = load_family(family, VOLTA, CACHE)
    except KernelcastError as error:
        if "open source file" in error.what:
            pytest.skip("the headers of CUDA 12 are not installed")
        raise
    for known in families()[family]:
        check(known, module.machine_kernel(known.launches(Scale.SMALL)[0].kernel))


@pytest.mark.only_with_all
@pytest.mark.parametrize(("module", "name"), WORKS)
def test_new_code_does_what_its_ptx_does(tools: None, module: str, name: str) -> None:
    assert not differences(WORKS[module, name], name, VOLTA)


@pytest.mark.only_with_all
@pytest.mark.parametrize("name", bits.STATEMENTS)
def test_new_code_handles_bits_as_its_ptx_does(tools: None, name: str) -> None:
    bits.test_bits_and_predicates_are_those_of_ptx(VOLTA, *bits.STATEMENTS[name])


def test_code_of_before_volta_is_refused() -> None:
    old = bytearray(read_sample("scan").cubin)
    old[48] = 61  # the architecture in the header's flags
    with pytest.raises(UnsupportedError, match="machine code for sm_61 is not read"):
        listed(bytes(old), read_cubin(bytes(old), name="old"), name="old")
