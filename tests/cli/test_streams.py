"""Inputs that are no files, and outputs that cannot be written."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from kernelcast.toolchain.nvrtc import compile_cuda

ROOT = Path(__file__).parents[2]
SOURCE = 'extern "C" __global__ void k(float* x) { x[threadIdx.x] += 1.0f; }\n'
LAUNCH = ("--grid", "1", "--block", "32", "--isa", "ptx", "--model", "roofline")


def fed(fifo: Path, text: str) -> threading.Thread:
    os.mkfifo(fifo)
    writer = threading.Thread(target=lambda: fifo.write_text(text))
    writer.start()
    return writer


def test_a_pipe_is_read(run, tmp_path: Path) -> None:
    writer = fed(tmp_path / "pipe", SOURCE)
    done = run("predict", tmp_path / "pipe", *LAUNCH, "--arg", "x=f32[32]")
    writer.join()
    assert done.status == 0, done.err


def test_standard_input_is_read(run, monkeypatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(SOURCE.encode())))
    done = run("kernels", "-")
    assert done.status == 0, done.err
    assert done.out.startswith("k(f32* x)")


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null"])
def test_a_device_is_refused(run, device: str) -> None:
    done = run("kernels", device)
    assert done.status == 2
    assert f"{device}: is a device, not a file" in done.err


def test_an_array_is_not_read_from_a_pipe(run, tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(SOURCE)
    os.mkfifo(tmp_path / "pipe")
    array = f'x=f32[32] file("{tmp_path}/pipe")'
    done = run("predict", tmp_path / "k.cu", *LAUNCH, "--arg", array)
    assert done.status == 2
    assert f"{tmp_path}/pipe: is not a file" in done.err


def test_an_array_of_less_than_no_elements_is_one_line(run, tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(SOURCE)
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (-1024,), }"
    with (tmp_path / "x.npy").open("wb") as file:
        np.lib.format.write_array_header_1_0(
            file, {"descr": "<f4", "fortran_order": False, "shape": (1024,)}
        )
    data = (tmp_path / "x.npy").read_bytes()
    size = len(data) - 10
    (tmp_path / "x.npy").write_bytes(data[:10] + header.ljust(size - 1).encode() + b"\n")
    array = f'x=f32[32] file("{tmp_path}/x.npy")'
    done = run("predict", tmp_path / "k.cu", *LAUNCH, "--arg", array)
    assert done.status == 2
    assert "not a readable .npy file" in done.err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_full_disk_is_one_line() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "kernelcast", "gpus"],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "the output cannot be written: No space left on device" in done.stderr


def test_code_of_another_gpu_is_refused(run, tmp_path: Path) -> None:
    cubin = tmp_path / "k.cubin"
    cubin.write_bytes(compile_cuda(SOURCE, name="k.cu", architecture="sm_80").cubin)
    launch = ("--grid", "1", "--block", "32", "--arg", "x=f32[32]")
    done = run("predict", cubin, *launch, "--gpu", "rtx-2080-ti")
    assert done.status == 2
    assert "sm_80 code, which rtx-2080-ti cannot run" in done.err
    assert "code for sm_75" in done.err
    assert run("predict", cubin, *launch, "--gpu", "rtx-3090").status == 0


def test_a_macro_that_the_launch_names_too_holds_in_both(run, tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(
        '/* kernelcast\nn = 1\n[[launch]]\ngrid = "n"\nblock = 32\nargs = { x = "f32[32]" }\n*/\n'
        f"{SOURCE}"
    )
    defined = ("predict", tmp_path / "k.cu", "--isa", "ptx", "-D", "n=8")
    assert "k<<<8, 32>>>" in run(*defined).out
    assert "k<<<4, 32>>>" in run(*defined, "--arg", "n=4").out
