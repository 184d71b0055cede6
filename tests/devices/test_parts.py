"""The parts of the virtual device by themselves: memory, clock, rules of sampling, and its C."""

from __future__ import annotations

import re
import subprocess
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile
from hypothesis import given
from hypothesis import strategies as st

from kernelcast import api
from kernelcast.devices.attributes import device_attributes, transfer_seconds
from kernelcast.devices.clock import Clock
from kernelcast.devices.errors import Code
from kernelcast.devices.forecasts import argument_values, is_sampled
from kernelcast.devices.libraries import compiler, libraries
from kernelcast.devices.memory import DeviceMemory
from kernelcast.devices.repeats import RepeatedLaunch
from kernelcast.devices.server import Request
from kernelcast.devices.shim.build import SOURCES
from kernelcast.errors import ToolError
from kernelcast.execution.memory import Region
from kernelcast.toolchain.wheels import find_in_wheels

ALL_STREAMS = 2**64 - 1


def allocated(
    memory: DeviceMemory, size_bytes: int, owner: object, *, counts: bool = True
) -> Region:
    region = memory.allocate(size_bytes, owner, counts=counts)
    assert region is not None
    return region


def test_memory_is_shared_counted_and_given_back():
    memory = DeviceMemory(10000)
    first = allocated(memory, 6000, "one")
    assert memory.allocate(5000, "one") is None
    second = allocated(memory, 4000, "two")
    host = allocated(memory, 1 << 20, "one", counts=False)
    assert memory.used_bytes == 10000
    assert [r.address for r in memory.regions] == sorted(r.address for r in memory.regions)
    memory.shared.view(first.address, 3)[:] = 1, 2, 3
    assert memory.region_at(first.address + 5999) == first
    assert memory.region_at(first.address + 6000) is None
    assert memory.free(first.address)
    assert not memory.free(first.address)
    again = allocated(memory, 6000, "one")
    assert again.address == first.address
    assert not memory.shared.view(again.address, 3).any()  # nothing is left of what was there
    memory.free_all_of("one")
    assert memory.regions == (second,)
    assert memory.used_bytes == 4000
    assert host.address > second.address


def test_what_a_sample_writes_is_forgotten():
    memory = DeviceMemory(1 << 20)
    region = allocated(memory, 8, None)
    memory.shared.view(region.address, 8)[:] = np.arange(8)
    private = memory.private.view(region.address, 8)
    assert private.tolist() == list(range(8))
    private[:] = 9
    assert memory.shared.view(region.address, 8).tolist() == list(range(8))
    assert memory.private.undo is not None
    memory.private.undo()
    memory.shared.view(region.address, 8)[:] = 5
    assert private.tolist() == [5] * 8


def test_streams_run_beside_each_other_and_the_default_stream_waits_for_all():
    clock = Clock()
    for stream, is_blocking in ((20, True), (21, True), (22, False)):
        clock.open(stream, is_blocking)
    assert clock.work(20, 3.0) == (0.0, 3.0)
    assert clock.work(21, 1.0) == (0.0, 1.0)
    assert clock.work(22, 9.0) == (0.0, 9.0)
    assert clock.work(0, 1.0) == (3.0, 4.0)
    assert clock.work(21, 1.0) == (4.0, 5.0)
    clock.record(1, 22)
    clock.wait(20, 1)
    assert clock.work(20, 1.0) == (9.0, 10.0)
    clock.record(2, 20)
    assert clock.between(1, 2) == 1.0
    assert clock.between(1, 3) is None
    clock.synchronize(ALL_STREAMS)
    assert clock.work(22, 1.0) == (10.0, 11.0)


@given(st.lists(st.tuples(st.sampled_from([0, 20, 21]), st.floats(0, 10)), max_size=30))
def test_work_of_a_stream_is_in_order_and_none_is_lost(asked):
    clock = Clock()
    clock.open(20, True)
    clock.open(21, False)
    last: dict[int, float] = {}
    for stream, seconds in asked:
        begin, end = clock.work(stream, seconds)
        assert begin >= last.get(stream, 0.0)
        assert end == pytest.approx(begin + seconds)
        last[stream] = end
    assert clock.end_s == max(last.values(), default=0.0)


def test_eight_launches_are_sampled_for_every_doubling():
    assert all(is_sampled(n) for n in range(1, 17))
    for power in range(4, 12):
        # The 16th stands both at the end of the first and at the start of the next ones.
        assert sum(is_sampled(n) for n in range(1 << power, 2 << power)) == 8


def test_pointers_are_equal_where_they_point_as_far_into_as_much():
    regions = [Region("a", 0x1000, 256, "b8"), Region("b", 0x2000, 256, "b8")]

    def region_at(address):
        return next((r for r in regions if r.address <= address < r.end), None)

    def values(*words):
        data = b"".join(word.to_bytes(8, "little") for word in words)
        return argument_values(data, region_at)

    assert values(0x1000, 7) == values(0x2000, 7)
    assert values(0x1000, 7) != values(0x1008, 7)
    assert values(0x1000, 7) != values(0x1000, 8)
    assert values(0x5000, 7) != values(0x1000, 7)
    assert argument_values(b"\1\0\0\0", region_at) == (1,)


def test_copies_take_the_bus_or_the_memory():
    chip = api.machine("a100-sxm-80gb")
    over = transfer_seconds(chip, 10**9, over_bus=True, passes=1)
    assert 10**9 / over == pytest.approx(31.5e9, rel=1e-3)  # PCI Express 4.0 with 16 lanes
    within = transfer_seconds(chip, 10**9, over_bus=False, passes=2)
    assert within == pytest.approx(2e9 / chip.number("dram.achieved_bandwidth"))


def test_bandwidth_as_programs_compute_it_is_that_of_the_machine():
    for name in ("a100-sxm-80gb", "rtx-4090", "h100-sxm"):
        chip = api.machine(name)
        values = device_attributes(chip)
        computed = 2 * values[36] * 1e3 * values[37] / 8
        assert computed == pytest.approx(chip.number("dram.bandwidth"), rel=0.02)


def c_enum(text: str, name: str) -> dict[str, int]:
    """The members of an enum of the C sources."""
    body = re.sub(r"//[^\n]*", "", text[text.index(f"enum {name} {{") :].split("}")[0])
    members: dict[str, int] = {}
    following = 0
    for entry in body.partition("{")[2].split(","):
        if entry.strip():
            word, _, value = entry.partition("=")
            following = int(value) if value else following
            members[word.strip()] = following
            following += 1
    return members


def test_both_ends_of_the_socket_count_requests_alike():
    asked = c_enum((SOURCES / "device.c").read_text(), "request")
    assert asked == {request.name: int(request) for request in Request}


def header(name: str) -> str:
    found = find_in_wheels(f"cu*/include/{name}", f"cuda_runtime/include/{name}")
    if not found:
        pytest.skip("the headers of the runtime are not installed")
    return found[0].read_text("utf-8", "replace")


def errors() -> list[tuple[int, str, str]]:
    text = (SOURCES / "errors.h").read_text()
    found = re.findall(r"^ERROR\((\d+), (\w+), (\w+),", text, re.MULTILINE)
    return [(int(number), runtime, driver) for number, runtime, driver in found]


def test_errors_have_the_numbers_of_the_vendors_headers():
    text = header("driver_types.h")
    numbers = {
        name: int(n) for name, n in re.findall(r"(cuda(?:Error\w+|Success))\s*=\s*(\d+)", text)
    }
    assert len(errors()) > 25
    for number, runtime, _ in errors():
        assert numbers[runtime] == number
    for code in Code:
        assert code.title == "cudaErrorSuccess" or numbers[code.title] == code


def defined_in(library: str) -> set[str]:
    try:
        folder = libraries()
    except ToolError as error:
        pytest.skip(str(error))
    with (folder / library).open("rb") as file:
        table: Any = ELFFile(file).get_section_by_name(".dynsym")
        return {symbol.name for symbol in table.iter_symbols()}


def test_every_function_of_the_runtime_is_there():
    text = header("cuda_runtime_api.h")
    public = set(re.findall(r"CUDARTAPI (cuda[A-Z]\w+)\(", text))
    version, *_ = re.findall(r"define CUDART_VERSION\s+(\d\d)", text)
    assert len(public) > 250
    assert public <= defined_in(f"libcudart.so.{version}")


def test_every_function_of_the_driver_is_there():
    """A program that is linked with one that is missing cannot be loaded, called or not."""
    text = header("cuda.h") + header("cudaProfiler.h")
    newest = dict(re.findall(r"#define (cu[A-Z]\w+)\s+(?:__CUDA_API_PT\w+\()?(cu[A-Z]\w+)", text))
    public = set(re.findall(r"^CUresult CUDAAPI (cu[A-Z]\w+)\(", text, re.MULTILINE))
    assert len(public) > 400
    assert {newest.get(name, name) for name in public} <= defined_in("libcuda.so.1")


def test_properties_are_laid_out_as_in_the_vendors_header(tmp_path):
    """Offsets of all fields that have a name there, compiled with both."""
    text = header("driver_types.h")
    folder = Path(find_in_wheels("cu*/include")[0])
    try:
        command = compiler()
    except ToolError as error:
        pytest.skip(str(error))
    version, *_ = re.findall(r"define CUDART_VERSION\s+(\d\d)", header("cuda_runtime_api.h"))
    ours = re.sub(r"//[^\n]*", "", (SOURCES / "properties.h").read_text())
    fields = re.findall(r"\b([a-z]\w+)(?:\[\d+\])?\s*[,;]", ours.partition("typedef struct {")[2])
    assert "struct __device_builtin__ cudaDeviceProp" in text
    source = tmp_path / "offsets.c"
    checks = "\n".join(
        f'_Static_assert(offsetof(properties, {f}) == offsetof(struct cudaDeviceProp, {f}), "{f}");'
        for f in fields
        if f not in ("reserved", "properties")
    )
    source.write_text(
        f"#include <stddef.h>\n#include <driver_types.h>\n#define RUNTIME {version}\n"
        f'#include "{SOURCES}/properties.h"\n{checks}\n'
        '_Static_assert(sizeof(properties) >= sizeof(struct cudaDeviceProp) - 64, "size");\n'
    )
    assert len(fields) > 70
    call = [*command, f"-I{folder}", "-c", str(source), "-o", str(tmp_path / "offsets.o")]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_launch_that_changes_nothing_is_settled_after_the_third_time():
    repeats, memory = RepeatedLaunch(), iter([b"a", b"a", b"b"])
    for _ in range(2):
        repeats.executed("one", lambda: next(memory))
        assert not repeats.are_settled("one")
    repeats.executed("one", lambda: next(memory))
    assert repeats.are_settled("one")
    assert not repeats.are_settled("another")
    repeats.disturbed()
    assert not repeats.are_settled("one")
    repeats.executed("one", lambda: next(memory))
    assert not repeats.are_settled("one")


@given(st.integers(2, 40), st.integers(0, 40))
def test_memory_is_compared_with_itself_one_launch_before(launches, settles_at):
    """A launch that changes memory up to some time is settled only after that."""
    repeats = RepeatedLaunch()
    for number in range(1, launches + 1):
        held = bytes([min(number, settles_at)])
        repeats.executed("one", partial(bytes, held))
        if repeats.are_settled("one"):
            assert number > settles_at
            return
    assert launches < max(3, 2 * settles_at + 3)
