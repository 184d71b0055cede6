"""`kernelcast disasm`, and `kernelcast kernels` on binaries, as a user runs them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.frontends.fat_binaries import Part, fat_binary, host_program

from kernelcast.toolchain.nvdisasm import disassemble
from kernelcast.toolchain.nvrtc import compile_cuda

EXAMPLES = Path(__file__).parents[2] / "examples"
TWO = """
extern "C" __global__ void one(float* y) { y[threadIdx.x] += 1.0f; }
extern "C" __global__ void two(float* y) { for (int i = 0; i < 1000; ++i) y[i] += y[i + 1]; }
"""

ODD = """
extern "C" __global__ void odd(float* y) {
    __shared__ float words[64];
    int t = threadIdx.x;
    words[2 * t] = t;
    __syncthreads();
    if (t < 8) y[t] = words[2 * (31 - t)];
}
"""


@pytest.fixture(scope="module")
def cubin() -> bytes:
    return compile_cuda(TWO, name="two.cu", architecture="sm_80").cubin


@pytest.fixture(scope="module")
def library(tmp_path_factory, cubin) -> Path:
    path = tmp_path_factory.mktemp("library") / "libtwo.so"
    path.write_bytes(host_program({".nv_fatbin": fat_binary(Part(cubin, 80))}))
    return path


def test_a_source_is_compiled_and_annotated(run):
    done = run("disasm", EXAMPLES / "reduction.cu", "--gpu", "h100-sxm")
    assert done.status == 0, done.err
    assert re.match(r"sum_blocks: \d+ instructions, sm_90, \d+ registers\n", done.out)
    load = re.search(r"524 k  ([0-9a-f]{4})  B-+:R.:W2:.:S\d\d  LDG.*  4.00 sectors", done.out)
    assert load, done.out
    assert f"waits for SB2: {load[1]} LDG" in done.out
    assert "reduction.cu:33  sum += x[i];" in done.out
    assert re.search(r"innermost loops.*\n  [0-9a-f]{4}-[0-9a-f]{4}: 6 instructions", done.out)


def test_the_target_follows_the_gpu(run):
    done = run("disasm", EXAMPLES / "saxpy.cu", "--gpu", "rtx-3090", "--quiet")
    assert done.out.startswith("saxpy: ")
    assert "sm_86" in done.out
    assert "LDG" not in done.out


def test_json_holds_every_instruction(run):
    done = run("disasm", EXAMPLES / "saxpy.cu", "--json")
    (kernel,) = json.loads(done.out)["kernels"]
    assert kernel["opcodes"]["known_share"] == 1.0
    addresses = [i["address"] for i in kernel["instructions"]]
    assert addresses == list(range(0, 16 * len(addresses), 16))
    waiting = [i for i in kernel["instructions"] if i["waits"]]
    assert waiting
    assert all(set(wait["for"]) <= set(addresses) for i in waiting for wait in i["waits"])
    assert sum(b["instructions"] for b in kernel["blocks"]) <= len(addresses)


def test_ptx_is_assembled(run, tmp_path):
    (tmp_path / "two.ptx").write_text(compile_cuda(TWO, name="two.cu", architecture="sm_80").ptx)
    done = run("disasm", tmp_path / "two.ptx", "--kernel", "one", "--gpu", "h100-sxm")
    assert done.status == 0, done.err
    assert done.out.startswith("one: ")
    assert ", sm_90, " in done.out
    done = run("disasm", tmp_path / "two.ptx", "--gpu", "rtx-2080-ti")
    assert done.status == 2
    assert "no machine code for sm_75: " in done.err


def test_counts_are_those_of_the_launch(run):
    flags = ("--arg", "n=1000", "--json")
    done = run("disasm", EXAMPLES / "saxpy.cu", *flags)
    assert done.status == 0, done.err
    (kernel,) = json.loads(done.out)["kernels"]
    assert kernel["launches"] == 1
    counts = {i["text"].split()[-2 if "P0" in i["text"] else 0]: i for i in kernel["instructions"]}
    # 1000 elements are 31 whole warps and 8 lanes, of 4 blocks of 256.
    first, store = kernel["instructions"][0]["executed"], counts["STG.E"]["executed"]
    assert (first["warps"], first["threads"]) == (32, 1024)
    assert (store["warps"], store["threads"], store["sectors"]) == (32, 1000, 125)


def test_bank_conflicts_and_idle_lanes_are_shown(run, tmp_path):
    (tmp_path / "odd.cu").write_text(ODD)
    done = run("disasm", tmp_path / "odd.cu", "--grid", "1", "--block", "32", "--arg", "y=f32[32]")
    assert done.status == 0, done.err
    assert re.search(r"  1  .* STS .*2.00-fold bank conflict", done.out), done.out
    assert done.out.count("8.00 lanes") == 1, "said where it changes"
    assert re.search(r"  1  .* STG.E .*; 1.00 sectors", done.out), done.out


def test_without_a_launch_there_are_no_counts(run, tmp_path, cubin):
    (tmp_path / "two.cubin").write_bytes(cubin)
    done = run("disasm", tmp_path / "two.cubin", "--json")
    for kernel in json.loads(done.out)["kernels"]:
        assert kernel["launches"] == 0
        assert all(i["executed"] is None for i in kernel["instructions"])


def test_half_a_launch_is_an_error(run, tmp_path, cubin):
    (tmp_path / "two.cubin").write_bytes(cubin)
    done = run("disasm", tmp_path / "two.cubin", "--kernel", "two", "--grid", "1")
    assert done.status == 2
    assert "give --grid and --block" in done.err


def test_a_listing_is_shown_although_its_launch_fails(run, tmp_path):
    (tmp_path / "two.cu").write_text(TWO)
    done = run(
        "disasm", tmp_path / "two.cu", "--kernel", "one", "--grid", "1", "--block", "32",
        "--arg", "y=f32[8]",
    )  # fmt: skip
    assert done.status == 0
    assert "not executed: " in done.err
    assert "FADD" in done.out


def test_where_loads_are_served_changes_the_waits_alone(run):
    near, far = (
        json.loads(run("disasm", EXAMPLES / "saxpy.cu", "--json", "--loads-from", level).out)
        for level in ("l1", "dram")
    )
    for a, b in zip(near["kernels"][0]["blocks"], far["kernels"][0]["blocks"], strict=True):
        assert a["issue_cycles"] == b["issue_cycles"]
        assert a["cycles"] <= b["cycles"]
    assert near != far


def test_a_cubin_and_its_saved_listing_say_the_same(run, tmp_path, cubin):
    (tmp_path / "two.cubin").write_bytes(cubin)
    (tmp_path / "two.sass").write_text(disassemble(cubin))
    both = []
    for name in ("two.cubin", "two.sass"):
        done = run("disasm", tmp_path / name, "--kernel", "two", "--json")
        assert done.status == 0, done.err
        (kernel,) = json.loads(done.out)["kernels"]
        both.append((kernel["instructions"], kernel["blocks"], kernel["loops"]))
    assert both[0] == both[1]


def test_all_kernels_of_a_cubin_without_a_choice(run, tmp_path, cubin):
    (tmp_path / "two.cubin").write_bytes(cubin)
    done = run("disasm", tmp_path / "two.cubin", "--quiet")
    assert "one: " in done.out and "two: " in done.out


def test_a_library_lists_its_kernels(run, library):
    done = run("kernels", library)
    assert done.status == 0, done.err
    assert re.search(r"sm_80 +\d+ +0 +0 +one\n", done.out + "\n")
    data = json.loads(run("kernels", library, "--json").out)
    assert sorted(k["symbol"] for k in data["kernels"]) == ["one", "two"]
    assert run("kernels", library, "--kernel", "one", "--quiet").out.count("sm_80") == 1
    assert run("kernels", library, "--kernel", "*", "--quiet").out.count("sm_80") == 2
    done = run("kernels", library, "--kernel", "tow")
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
    assert "unknown kernel 'tow'; did you mean two" in done.err


def test_a_kernel_of_a_library_is_disassembled(run, library):
    done = run("disasm", library, "--gpu", "a100-sxm-80gb", "--kernel", "two")
    assert done.status == 0, done.err
    assert done.out.startswith("two: ")


@pytest.mark.parametrize("command", ["kernels", "disasm"])
def test_code_for_other_chips_only_is_said(run, library, command):
    done = run(command, library, "--gpu", "h100-sxm")
    assert (done.status, done.out) == (2, "")
    assert "there is code for sm_80" in done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"\x7fELF" + bytes(60), "error: "),
        (b"\x50\xed\x55\xba", "ends in a header"),
        (b".version 8.0\n.target sm_90\n.address_size 64\n", "the file holds no kernel"),
        (b"[[launch]]\ngrid = 1\n", "workload holds no machine code"),
        (b"", "empty"),
    ],
)
def test_what_holds_no_machine_code_is_one_line(run, tmp_path, content, what):
    (tmp_path / "file").write_bytes(content)
    done = run("disasm", tmp_path / "file")
    assert (done.status, done.out) == (2, "")
    assert what in done.err
    assert done.err.count("\n") == 1


def test_a_listing_is_not_executed(run, tmp_path, cubin):
    (tmp_path / "two.sass").write_text(disassemble(cubin))
    done = run("predict", tmp_path / "two.sass", "--grid", "1", "--block", "32")
    assert done.status == 2
    assert "kernelcast disasm" in done.err


def test_fast_functions_are_compiled_where_asked_for(run, tmp_path):
    file = tmp_path / "sine.cu"
    file.write_text("__global__ void sine(float* y) { y[threadIdx.x] = sinf(y[threadIdx.x]); }")
    exact, fast = (
        run("disasm", file, "--gpu", "a40", *flags).out.count("\n")
        for flags in ((), ("--use_fast_math",))
    )
    assert fast < exact / 2
