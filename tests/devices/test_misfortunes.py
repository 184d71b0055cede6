"""Programs that crash, code that the GPU has not, and either process killed: nothing is left."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys

import pytest

A100 = ("--gpu", "a100-sxm-80gb")


def test_a_program_that_crashes_leaves_its_profile(ended, built):
    done = ended(*A100, built("misfortunes"), 0)
    assert done.status == 128 + signal.SIGSEGV
    assert done.printed == "before\n"
    assert [k["launches"] for k in done.profile["kernels"]] == [1]


def test_an_instruction_that_cannot_be_executed_fails_its_launch_alone(ended, built):
    done = ended(*A100, built("misfortunes"), 1)
    assert done.printed == "cudaErrorNotSupported, 2, cudaSuccess\n"
    (said,) = done.said.splitlines()
    assert "SUST" in said
    assert "misfortunes.cu:11" in said


def test_a_module_for_another_architecture_alone_is_told(ended, built):
    """Machine code of sm_90 and no PTX, on a GPU that has sm_80."""
    done = ended(*A100, built("vector_add", (9, 0)), 1000)
    assert done.printed == "cudaSuccess, 999 wrong\n"  # it does not ask what the launch said
    assert done.said.startswith("kernelcast: cudaErrorNoKernelImageForDevice: ")
    assert "sm_90" in done.said
    assert done.profile["kernels"] == []


@pytest.fixture
def asking(built):
    """`kernelcast run` of a program that goes on asking, and the program's process id."""
    call = [sys.executable, "-m", "kernelcast", "run", "--json", *A100, str(built("misfortunes"))]
    run = subprocess.Popen([*call, "2"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert run.stderr is not None
    program = int(run.stderr.readline())
    yield run, program
    run.kill()
    run.communicate()


def test_a_program_dies_with_its_engine(asking):
    run, program = asking
    watched = os.pidfd_open(program)
    run.kill()
    ended, _, _ = select.select([watched], [], [], 300)
    assert ended == [watched]
    os.close(watched)
    assert "the engine is gone" in run.communicate()[1]


def test_an_engine_ends_with_its_program(asking):
    run, program = asking
    os.kill(program, signal.SIGKILL)
    out, _ = run.communicate()
    assert run.returncode == 128 + signal.SIGKILL
    assert json.loads(out)["kernels"][0]["launches"] == 1
