"""Programs on the virtual device: they check their own results, and are told CUDA's codes."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys

import pytest

from kernelcast import api
from kernelcast.cli.main import main
from kernelcast.devices.run import check_on_device
from kernelcast.machines.loader import load_machine
from kernelcast.toolchain.nvcc import find_nvcc
from tests.devices.conftest import PROGRAMS

A100 = ("--gpu", "a100-sxm-80gb")


def test_a_program_computes_what_it_should_and_is_forecast(ended, built):
    done = ended(*A100, built("vector_add"), 100000, 3)
    assert (done.status, done.printed, done.said) == (0, "cudaSuccess, 0 wrong\n", "")
    (kernel,) = done.profile["kernels"]
    assert (kernel["kernel"], kernel["launches"]) == ("add", 3)
    assert (kernel["sampled"], kernel["known"]) == (1, 2)
    assert kernel["least_grid"] == kernel["most_grid"] == [391, 1, 1]
    assert kernel["times"][0]["total_s"] == pytest.approx(3 * kernel["times"][0]["mean_s"])
    to_device, back = done.profile["transfers"]
    assert (to_device["count"], to_device["bytes"]) == (2, 800000)
    assert (back["kind"], back["bytes"]) == ("device to host", 400000)


def test_arrays_of_the_host_are_reached_over_the_bus(ended, built):
    done = ended(*A100, built("host_memory"))
    assert (done.status, done.printed) == (0, "1 1048576\n")
    (kernel,) = done.profile["kernels"]
    (time,) = kernel["times"]
    assert time["bottleneck"] == "pcie bandwidth"
    read_bytes, bandwidth = 2 * 4 * (1 << 20), load_machine(A100[1]).number("pcie.bandwidth")
    assert time["mean_s"] == pytest.approx(read_bytes / bandwidth, rel=0.03)


def test_the_host_waits_for_copies_and_where_it_asks_to(ended, built):
    done = ended(*A100, built("vector_add"), 100000, 3)
    host = {part["call"]: part for part in done.profile["host"]}
    waits = host.pop("wait for a stream or all")
    assert {call: part["count"] for call, part in host.items()} == dict.fromkeys(
        ["launch", "copy", "allocate", "free"], 3
    )
    assert host["launch"]["waited_s"] == 0
    assert waits["waited_s"] == pytest.approx(done.profile["gpus"][0]["kernels_s"])
    copies_s = sum(part["time_s"] for part in done.profile["transfers"])
    assert host["copy"]["waited_s"] == pytest.approx(copies_s)
    events = {part["call"]: part for part in ended(*A100, built("transpose")).profile["host"]}
    assert events["wait for an event"]["waited_s"] > 0


def test_a_profile_says_what_to_do_about_its_kernels(ended, built):
    (kernel,) = ended(*A100, built("vector_add"), 1 << 22).profile["kernels"]
    assert kernel["times"][0]["bottleneck"] == "dram bandwidth"
    (step,) = kernel["what_to_do"]
    assert step.startswith("move fewer bytes")


def test_the_forecast_is_that_of_predict(ended, built, tmp_path):
    done = ended(*A100, built("vector_add"), 1 << 20)
    source = tmp_path / "add.cu"
    text = (PROGRAMS / "vector_add.cu").read_text()
    source.write_text(text[text.index("__global__") : text.index("int main")])
    kernel = api.load(source, gpu="a100-sxm-80gb")
    arrays = {name: api.f32(1 << 20) for name in "xyz"}
    launch = api.Launch(4096, 256, {**arrays, "n": 1 << 20})
    forecast = api.predict(api.case(kernel, launch, "a100-sxm-80gb"))
    ran = done.profile["kernels"][0]["times"][0]
    # The program's arrays lie elsewhere, and how long a line takes depends on where it lies.
    assert ran["mean_s"] == pytest.approx(forecast.time_s, rel=0.04)
    assert ran["bottleneck"] == forecast.bottleneck


def test_events_tell_forecast_time(ended, built):
    done = ended(*A100, built("transpose"))
    numbers = re.fullmatch(r"(\d+) wrong, ([\d.]+) ms, ([\d.]+) ms, ([\d.]+) ms\n", done.printed)
    assert numbers is not None, done.printed
    wrong, before, tiled, both = numbers.groups()
    times = {k["kernel"]: k["times"][0]["total_s"] for k in done.profile["kernels"]}
    moved = {t["kind"]: t for t in done.profile["transfers"]}
    copied = moved["device to host"]["time_s"] / 2  # one of the two stands between the events
    assert int(wrong) == 0
    assert float(tiled) == pytest.approx(1e3 * times["tiled"], rel=1e-5)
    assert float(before) == pytest.approx(
        1e3 * (times["naive"] + copied + moved["fill"]["time_s"]), rel=1e-5
    )
    assert float(both) == pytest.approx(float(before) + float(tiled), rel=1e-5)


@pytest.mark.parametrize("gpu", ["a100-sxm-80gb", "h100-sxm"])
def test_variables_of_the_device_are_shared_with_the_host(ended, built, gpu):
    done = ended("--gpu", gpu, built("variables", (8, 0), (9, 0)))
    assert done.printed == "4 1, 8 5, counter 885, shown 22, 16 bytes\n"
    assert done.status == 0


@pytest.mark.parametrize(
    ("kind", "printed"),
    [
        (0, "cudaErrorIllegalAddress, then cudaErrorIllegalAddress, then cudaErrorIllegalAddress"),
        (1, "cudaErrorMisalignedAddress, then cudaErrorMisalignedAddress, "),
        (2, "cudaErrorLaunchFailure, then cudaErrorLaunchFailure, then cudaErrorLaunchFailure"),
        (3, "cudaErrorInvalidConfiguration, then cudaSuccess, then cudaSuccess"),
        (4, "cudaErrorInvalidConfiguration, then cudaSuccess, then cudaSuccess"),
        (5, "cudaErrorMemoryAllocation, then cudaSuccess, "),
        (6, "cudaErrorInvalidValue, then cudaSuccess, then cudaSuccess"),
        (7, "cudaErrorInvalidValue, then cudaSuccess, then cudaSuccess"),
        (8, "cudaErrorInvalidDevice, then cudaSuccess, then cudaSuccess"),
    ],
)
def test_what_goes_wrong_is_told_in_codes_and_the_process_lives(ended, built, kind, printed):
    done = ended(*A100, built("faults"), kind)
    assert done.printed.startswith(printed)
    assert done.status == 0


def test_an_access_out_of_bounds_is_told_with_its_line(ended, built):
    done = ended(*A100, built("faults"), 0)
    (line,) = done.said.splitlines()
    assert line.startswith("kernelcast: cudaErrorIllegalAddress: kernel past_the_end, line ")
    assert "faults.cu:5" in line
    assert "block 0, thread (0,0,0)" in line
    assert "(128 bytes), 3872 bytes past its end" in line
    assert done.profile["failures"]


def test_a_program_learns_of_the_device_from_its_machine_file(ended, built):
    done = ended("--gpu", "a100-sxm-80gb", built("device"))
    first, second = done.printed.splitlines()
    assert first == (
        "1 device, A100 SXM4 80GB, 8.0, 108 SMs, 108 SMs, 166912 shared, 2048 threads, "
        f"L2 41943040, 1048576 taken of {80 << 30}"
    )
    assert second == "16384 shared, 1024 threads, 8 blocks, 216 by 1024"


def test_what_a_kernel_prefers_of_l1_cache_and_shared_memory_counts(ended, built):
    """A block takes 7 KiB with what is reserved: with as little as can be, an SM holds one, with a
    tenth of its 164 KiB, or of 32 KiB, four."""
    done = ended(*A100, built("preferences"))
    assert (done.status, done.printed) == (0, "8 8 1 8 1 4 10 2 cudaErrorInvalidValue\n")
    (kernel,) = done.profile["kernels"]
    assert (kernel["launches"], kernel["sampled"]) == (6, 5)
    (time,) = kernel["times"]
    assert time["most_s"] > 1.5 * time["least_s"]


def test_libraries_learn_what_they_ask_before_they_work(ended, built):
    machine = load_machine("a100-sxm-80gb")
    half = machine.number("occupancy.shared_per_sm") // 2
    left = half - machine.number("occupancy.shared_reserved") - 8 * 128
    assert ended(*A100, built("queries")).printed.splitlines() == [
        "1 1 0 1",
        "0 1 1",
        "3 parameters, the last at 16 of 8 bytes, cudaErrorInvalidValue",
        f"{left:.0f}, cudaErrorPeerAccessUnsupported",
    ]


def test_programs_older_than_cuda_is_are_compiled(ended, built):
    """They wait with cudaThreadSynchronize, print the clocks of a device, shuffle without a mask,
    and bind texture references: x + 1 + what lies 64 floats a row."""
    done = ended(*A100, built("older_names"))
    assert done.printed.splitlines() == [
        "A100 SXM4 80GB, 1410 MHz, 2.04 TB/s, 1",
        "61, cudaSuccess",
        "1, 519, cudaSuccess",
    ]
    assert done.status == 0


def test_a_graph_is_built_node_by_node_and_changed(ended, built):
    done = ended(*A100, built("graph_nodes"))
    assert done.printed.splitlines() == [
        "6 nodes, 1 roots, 1 before, a host function: 1",
        "24 after 2 calls",
        "36 after 2 calls",
        "cudaErrorGraphExecUpdateFailure 1",
        "12, cudaSuccess",
        "cudaErrorInvalidValue",
        "cudaErrorInvalidValue",
    ]
    assert {k["kernel"]: k["launches"] for k in done.profile["kernels"]} == {"add": 8, "scale": 4}


def test_memory_of_graphs_is_there_whenever_they_are_launched(ended, built):
    assert ended(*A100, built("graph_memory")).printed == "21, 1048576 bytes, cudaSuccess\n"


def test_a_captured_graph_is_replayed(ended, built):
    done = ended(*A100, built("graph"))
    assert done.printed == "1 -1 0, 6 10 5, cudaSuccess\n"
    (kernel,) = done.profile["kernels"]
    assert kernel["launches"] == 20


def test_kernels_print_allocate_and_assert(ended, built):
    done = ended(*A100, built("system"))
    lines = [f"{t} of 2:  3.00|text  |x|ff|{-(1 << 40)}|%|007|  12" for t in range(2)]
    assert done.printed.splitlines() == [
        "before",
        *lines,
        "even, even",
        "odd, even",
        "104 162 cudaSuccess",
        "cudaErrorAssert",
    ]
    assert "assertion `n < 3 || threadIdx.x < 5` of void asserts(int) failed at " in done.said
    assert "thread (5,0,0)" in done.said


@pytest.mark.parametrize(("kind", "repeats"), [(0, 5 * 7), (1, 0), (2, 0)])
def test_launches_that_change_nothing_are_left_out(ended, built, kind, repeats):
    """Of ten equal launches between two copies, the first three are executed."""
    done = ended(*A100, built("repeated"), kind)
    assert done.printed == "0 wrong\n"
    (kernel,) = done.profile["kernels"]
    assert (kernel["launches"], kernel["repeats"]) == (50, repeats)


def test_timers_in_kernels_show_forecast_time(ended, built):
    done = ended(*A100, built("timers"))
    both_ns, one_ns, span_ns, cycles, is_later = map(float, done.printed.split())
    (kernel,) = done.profile["kernels"]
    assert both_ns == pytest.approx(1e9 * kernel["times"][0]["total_s"], rel=1e-4)
    assert 2 * one_ns == pytest.approx(both_ns, rel=0.1)
    assert span_ns == pytest.approx(both_ns, rel=0.1)
    assert cycles == pytest.approx(1.41 * one_ns, rel=0.05)  # the clock of an A100 in GHz
    assert is_later


@pytest.mark.parametrize("gpu", ["a100-sxm-80gb", "h100-sxm"])
def test_blocks_of_a_cooperative_launch_wait_for_each_other(ended, built, gpu):
    done = ended("--gpu", gpu, built("cooperative", (8, 0), (9, 0)))
    assert done.printed == "cudaSuccess cudaSuccess 0 wrong\n"
    (kernel,) = done.profile["kernels"]
    overhead_s = load_machine(gpu).number("launch.overhead")
    assert kernel["sampled"] == 1
    # Each of six barriers costs an atomic and a load, which go to L2 one after the other.
    assert 6 * 300e-9 < kernel["times"][0]["total_s"] - overhead_s < 6 * 3e-6


@pytest.mark.parametrize("gpu", ["h100-sxm", "rtx-4090"])
def test_blocks_wait_for_later_ones_by_a_barrier_of_their_own(ended, built, gpu):
    done = ended("--gpu", gpu, built("waiting_blocks", (8, 0), (9, 0)))
    assert done.printed == "cudaSuccess 0 wrong\n"
    (kernel,) = done.profile["kernels"]
    assert (kernel["sampled"], kernel["why_unknown"]) == (1, "")


def test_blocks_of_a_cluster_reach_each_others_shared_memory(ended, built):
    done = ended("--gpu", "h100-sxm", built("clusters", (9, 0)))
    values = "10 0 30 20 50 40"
    # 32 blocks of one warp on each of 132 SMs, two to a cluster.
    held = "2112 8 cudaSuccess cudaErrorInvalidValue"
    found = f"{values} {values} {held} cudaErrorInvalidConfiguration"
    assert done.printed == f"{found}\n"
    (refused,) = done.said.splitlines()
    assert "a grid of 5x1x1 blocks is no whole number of clusters of 2x1x1" in refused
    assert {kernel["kernel"] for kernel in done.profile["kernels"]} == {"swap", "plain"}
    assert all(kernel["launches"] == 1 for kernel in done.profile["kernels"])


def test_a_host_makes_tensor_maps(ended, built):
    """Wrong if a map is refused, taken though no GPU could copy by it, or means another tensor."""
    done = ended("--gpu", "h100-sxm", built("tensor_maps", (9, 0)))
    # Misaligned; rows longer than the swizzle; a stride of 8 bytes; rows shorter than the swizzle.
    assert done.printed == "0 wrong, cudaSuccess\n1 1 1 801\n"
    assert "rows are shorter than its swizzle is not supported by the virtual" in done.said


def test_code_for_one_chip_alone_is_compiled_for_it(ended):
    """Wrong if `nvcc` is asked for `sm_90` where a program has instructions of Hopper alone."""
    done = ended("--gpu", "h100-sxm", PROGRAMS / "one_chip.cu")
    assert done.printed == "256\n"


def test_functions_may_call_themselves_and_processes_share_no_memory(ended, built):
    done = ended(*A100, built("recursion"))
    assert done.printed == "55 13 cudaErrorNotSupported\n"
    assert done.said == "kernelcast: cudaIpcGetMemHandle is not supported by the virtual device\n"


def test_what_a_program_asked_for_last_is_counted(ended, built):
    (moved,) = ended(*A100, built("copies")).profile["transfers"]
    assert moved["count"] == 3000


def test_kernels_and_variables_of_libraries_are_used_by_handle(ended, built, tmp_path):
    done = ended(*A100, built("library"), tmp_path / "no such file")
    assert done.printed == "cudaErrorFileNotFound cudaErrorSymbolNotFound 7 12, cudaSuccess\n"
    assert done.profile["kernels"][0]["kernel"] == "bump"


def test_memory_is_mapped_to_reserved_addresses(ended, built):
    built("vector_add")  # skips where the libraries cannot be made
    done = ended(*A100, sys.executable, PROGRAMS / "mapped.py")
    assert done.printed == "7 7, more than there is: 2, elsewhere: 801\n"


def test_memory_comes_from_pools(ended, built):
    assert ended(*A100, built("pools")).printed == "1048576 12288 cudaSuccess\n"


def test_several_gpus_stand_side_by_side(ended, built):
    names = ["a100-sxm-80gb", "h100-sxm", "rtx-4090"]
    program = built("vector_add", (8, 0), (9, 0), (8, 9))
    done = ended("--gpu", ",".join(names), program, 1 << 20)
    assert [gpu["gpu"] for gpu in done.profile["gpus"]] == names
    alone = [ended("--gpu", name, program, 1 << 20).profile["gpus"][0] for name in names]
    for beside, one in zip(done.profile["gpus"], alone, strict=True):
        assert beside["kernels_s"] == pytest.approx(one["kernels_s"], rel=1e-6)


def test_a_source_is_compiled_first(ended, built, tmp_path):
    timeline = tmp_path / "timeline.json"
    done = ended(*A100, "--timeline", timeline, PROGRAMS / "vector_add.cu", 1000)
    assert done.printed == "cudaSuccess, 0 wrong\n"
    assert '"name":"add"' in timeline.read_text()


def test_headers_near_a_source_are_found(ended, built, tmp_path):
    app, common = tmp_path / "samples/app/app.cu", tmp_path / "common"
    app.parent.mkdir(parents=True)
    common.mkdir()
    (common / "answer.h").write_text('#include "value.h"\n__device__ int answer = VALUE;\n')
    (common / "value.h").write_text("#define VALUE 42\n")
    app.write_text(
        "#include <answer.h>\n#include <cstdio>\n"
        '__global__ void say() { printf("%d\\n", answer); }\n'
        "int main() { say<<<1, 1>>>(); cudaDeviceSynchronize(); }\n"
    )
    done = ended(*A100, app)
    assert f"were found nearby: -I {common}\n42\n" in done.printed
    (common / "answer.h").unlink()
    assert "give the directory of answer.h with -I" in ended(*A100, app).printed


def test_helpers_of_nvidias_samples_are_there(ended, built):
    done = ended(*A100, PROGRAMS / "samples.cu", "--factor=2.5", "-name=it")
    assert "GPU 0: " in done.printed
    assert "compute capability 8.0" in done.printed
    assert "it: right, timed 1, file gone\n" in done.printed
    assert "cudaSetDevice(7): code 101, cudaErrorInvalidDevice" in done.printed
    assert done.status == 1


def test_a_program_is_found_as_a_shell_does(ended, built, monkeypatch):
    program = built("vector_add")
    monkeypatch.chdir(program.parent)
    assert ended(*A100, f"./{program.name}", 10).printed == "cudaSuccess, 0 wrong\n"
    monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
    assert ended(*A100, program.name, 10).printed == "cudaSuccess, 0 wrong\n"


def test_code_may_be_linked_on_the_device(ended, built):
    done = ended(*A100, "--nvcc=-rdc=true", PROGRAMS / "vector_add.cu", 1000)
    assert done.printed == "cudaSuccess, 0 wrong\n"


def test_the_default_stream_may_be_each_threads_own(ended, built):
    source = PROGRAMS / "transpose.cu"
    done = ended(*A100, "--nvcc=--default-stream=per-thread", source)
    assert done.printed.startswith("0 wrong")


def test_the_exit_status_is_that_of_the_program(ended):
    assert ended("sh", "-c", "exit 7").status == 7
    assert ended("sh", "-c", "kill -9 $$").status == 128 + 9


def test_an_interrupt_ends_the_program_and_shows_what_it_did(built):
    call = [sys.executable, "-m", "kernelcast", "run", "--json", "sh", "-c"]
    program = "trap 'echo ended >&2; exit' INT; echo ready >&2; while :; do sleep 0.1; done"
    run = subprocess.Popen([*call, program], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert run.stderr is not None
    assert run.stderr.readline() == b"ready\n"
    run.send_signal(signal.SIGINT)
    out, err = run.communicate()
    assert (run.returncode, err) == (130, b"ended\n")
    assert json.loads(out)["exit_status"] == 130


def test_an_interrupt_while_a_program_starts_ends_it(built, monkeypatch):
    command, begin, begun = ["sleep", "60"], subprocess.Popen, []

    def begin_and_interrupt(*arguments, **named):
        program = begin(*arguments, **named)
        if arguments[0] == command:
            begun.append(program)
            signal.raise_signal(signal.SIGINT)
        return program

    monkeypatch.setattr(subprocess, "Popen", begin_and_interrupt)
    assert check_on_device(command, load_machine("a100-sxm-80gb")).status == 130
    assert [program.returncode for program in begun] == [-signal.SIGINT]


def test_a_launch_ends_with_the_program_that_waits_for_it(built):
    killed = ["timeout", "--signal=KILL", "4", str(built("endless"))]
    call = [sys.executable, "-m", "kernelcast", "run", "--json", *A100, *killed]
    run = subprocess.run(call, capture_output=True, timeout=300)
    assert run.returncode == 128 + 9
    assert json.loads(run.stdout)["kernels"] == []


def test_a_program_built_with_the_flags_that_doctor_names_runs(ended, built, tmp_path, capfd):
    built("vector_add")  # skips without the compilers
    assert main(["doctor", "--json"]) == 0
    answer = json.loads(capfd.readouterr().out)
    found = {part["part"]: part["detail"] for part in answer["findings"]}
    flags = re.search('NVCC_APPEND_FLAGS="([^"]+)"', found["run PROGRAM"])
    assert flags is not None
    program = tmp_path / "add"
    call = [str(find_nvcc()), str(PROGRAMS / "vector_add.cu"), "-o", str(program), "-arch=sm_80"]
    subprocess.run(call, check=True, env={**os.environ, "NVCC_APPEND_FLAGS": flags[1]})
    assert ended(*A100, program, 1000).printed == "cudaSuccess, 0 wrong\n"


def test_a_program_with_the_static_runtime_is_told_how_to_link(ended, built, tmp_path):
    program = tmp_path / "static"
    source = PROGRAMS / "vector_add.cu"
    call = [str(find_nvcc()), str(source), "-o", str(program), "-arch=sm_80"]
    subprocess.run([*call, "-cudart", "static"], check=True)
    done = ended(program)
    assert done.status == 2
    assert "static runtime" in done.printed
    assert "-cudart shared" in done.printed


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("./no-such-program", "no such file; check the path"),
        ("no-such-program", "unknown program"),
        ("missing.cu", "cannot read the file"),
    ],
)
def test_what_cannot_be_run_is_one_line(ended, built, program, message):
    done = ended(program)
    assert (done.status, done.profile) == (2, {})
    assert message in done.printed
    assert done.printed.count("\n") == 1
