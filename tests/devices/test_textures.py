"""CUDA arrays, textures and surfaces of programs, by the runtime's functions and the driver's."""

from __future__ import annotations

import sys

import pytest

from kernelcast.devices.device import Process, VirtualGpu
from kernelcast.devices.errors import Code
from kernelcast.devices.forecasts import argument_values
from kernelcast.ir.texture import DESCRIPTOR_BYTES
from kernelcast.machines.loader import load_machine
from tests.devices.conftest import PROGRAMS

A100 = ("--gpu", "a100-sxm-80gb")


@pytest.mark.parametrize("gpu", ["a100-sxm-80gb", "h100-sxm"])
def test_a_program_reads_and_writes_by_coordinates(ended, built, gpu):
    done = ended("--gpu", gpu, built("textures", (8, 0), (9, 0)))
    assert (done.printed, done.said, done.status) == ("cudaSuccess, 0 wrong\n", "", 0)
    assert all(kernel["sampled"] == 1 for kernel in done.profile["kernels"])


@pytest.mark.parametrize("gpu", ["a100-sxm-80gb", "h100-sxm"])
def test_a_program_has_layers_cubes_and_levels(ended, built, gpu):
    done = ended("--gpu", gpu, built("texture_shapes", (8, 0), (9, 0)))
    assert (done.printed, done.said, done.status) == ("cudaSuccess, 0 wrong\n", "", 0)


def test_the_driver_has_arrays_and_textures(ended, built):
    built("vector_add")  # skips where the libraries cannot be made
    done = ended(*A100, sys.executable, PROGRAMS / "driver.py")
    assert (done.printed, done.said, done.status) == ("0 wrong\n", "", 0)


def test_handles_are_given_again_and_launches_know_textures_by_what_they_are():
    device, process = VirtualGpu((load_machine("a100-sxm-80gb"),), None), Process()
    made = [device.texture(process, bytes([n]) * DESCRIPTOR_BYTES) for n in range(3)]
    assert {code for code, _ in made} == {Code.SUCCESS}
    handles = [int.from_bytes(data, "little") for _, data in made]
    assert len(set(handles)) == 3
    del process.textures[handles[1]]
    _, again = device.texture(process, bytes([9]) * DESCRIPTOR_BYTES)
    assert int.from_bytes(again, "little") == handles[1]

    def values(n):
        return argument_values(handles[n].to_bytes(8, "little"), lambda _: None, process.textures)

    assert values(1) == (bytes([9]) * DESCRIPTOR_BYTES,)
    assert values(0) != values(2)


def test_texels_of_an_odd_number_of_bytes_are_read_in_whole_words():
    device, process = VirtualGpu((load_machine("a100-sxm-80gb"),), None), Process()
    _, data = device.allocate(process, 13, 0)
    device.texture(process, data + bytes(DESCRIPTOR_BYTES - 8))
    (region,) = device.memory.regions
    assert (region.size_bytes, device.memory.used_bytes) == (16, 16)
    device.free(region.address)
    assert device.memory.used_bytes == 0
