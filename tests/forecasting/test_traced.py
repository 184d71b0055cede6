"""A stored trace is forecast like the launch that it is of."""

from __future__ import annotations

import pickle
import zlib
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import kernelcast as kc
from kernelcast.cli.main import main
from kernelcast.errors import InputError
from kernelcast.execution.trace import RecordKind
from kernelcast.forecasting.runs import head_of, run_of_last
from kernelcast.forecasting.traced import cases_of_traces
from kernelcast.frontends.launch_check import check_launch
from kernelcast.profiling.run import Sampling
from kernelcast.traces.accel_sim.export import export_trace
from kernelcast.traces.chunks import decode_chunk, encode_chunk, record_starts
from kernelcast.traces.columns import pack_column, unpack_columns
from kernelcast.traces.file import read_section, write_trace

EXAMPLES = Path(__file__).parents[2] / "examples"


def ready(example: str, gpu: str, sampling: Sampling):
    """An example's first launch, ready to run."""
    work = kc.workload(EXAMPLES / example)
    (launch, *_) = work.launches
    kernel = kc.load(EXAMPLES / example, gpu=gpu, kernel=launch.kernel)
    run = [(kernel, check_launch(kernel, launch))]
    return run_of_last(run, sampling=sampling, base_dir=work.base_dir)


@pytest.mark.parametrize("example", ["saxpy.cu", "spmv_csr.cu", "reduction.cu"])
def test_the_forecast_of_a_trace_is_that_of_the_same_blocks(tmp_path: Path, example: str) -> None:
    """No neighbours are learnt of a grid of one row, so nothing is lost in the file."""
    sampling = Sampling(blocks=40)
    run = ready(example, "h100-sxm", sampling)
    file = tmp_path / "launch.kct"
    with write_trace(file, head_of(run), "kernelcast") as writer:
        run.execute(writer)
    (traced,) = cases_of_traces(file, [kc.machine("h100-sxm")])
    work = kc.workload(EXAMPLES / example)
    direct, *_ = kc.cases(work, [kc.machine("h100-sxm")], sampling=sampling)
    if traced.streams is None:
        # A few blocks here and there do not fill the caches.
        direct = replace(direct, find_streams=None, why_no_streams=traced.why_no_streams)
    # What lies in a file is not executed again.
    direct = replace(direct, run=None)
    there = pickle.loads(pickle.dumps(traced))
    for model in kc.model_names():
        assert kc.predict(traced, model).time_s == kc.predict(direct, model).time_s
        assert kc.predict(there, model).time_s == kc.predict(traced, model).time_s


def test_a_trace_of_a_launch_that_gave_variables_values_is_forecast(tmp_path: Path) -> None:
    """What variables held is in what the trace says, and nobody has to give it again."""
    source = tmp_path / "scale.cu"
    source.write_text(
        "__constant__ float table[64];\n"
        "__global__ void scale(float* a) { a[threadIdx.x] *= table[threadIdx.x % 64]; }\n"
    )
    shape = ["--grid", "40", "--block", "64", "--arg", "a=f32[64]", "--isa", "ptx"]
    given = [*shape, "--symbol", "table=f32[64] arange", "--gpu", "h100-sxm"]
    assert main(["trace", str(source), *given, "--out", str(tmp_path / "launch.kct")]) == 0
    (case,) = kc.traced_cases(tmp_path / "launch.kct", [kc.machine("h100-sxm")])
    assert kc.predict(case).time_s > 0
    assert not any("holds zeros" in warning for warning in case.kernel.warnings)


@pytest.mark.parametrize("model", ["teg", "volkov"])
def test_traces_of_version_2_are_read_and_what_they_do_not_tell_is_said(
    tmp_path: Path, model: str
) -> None:
    """They do not hold how many different values lanes compare: those are taken to be 32."""
    source = tmp_path / "match.cu"
    source.write_text(
        "__global__ void match(unsigned* a) {\n"
        "  unsigned i = threadIdx.x, all = 0;\n"
        "  for (int n = 0; n < 20; ++n) all += __match_any_sync(~0u, i / 16 + n);\n"
        "  a[i] = all;\n}\n"
    )
    shape = ["--grid", "400", "--block", "256", "--arg", "a=u32[256]", "--isa", "ptx"]
    new, old = tmp_path / "new.kct", tmp_path / "old.kct"
    assert main(["trace", str(source), *shape, "--gpu", "h100-sxm", "--out", str(new)]) == 0
    write_as_version_2(new, old)
    told, untold = (
        kc.predict(case, model)
        for file in (new, old)
        for case in kc.traced_cases(file, [kc.machine("h100-sxm")])
    )
    assert untold.time_s > 4 * told.time_s
    assert not any("nobody recorded" in text for text in told.assumptions)
    assert any("nobody recorded" in text for text in untold.assumptions)


def write_as_version_2(new: Path, old: Path) -> None:
    """A file as it was before, with no records of what lanes compare."""
    with new.open("rb") as file, old.open("wb") as out:
        out.write(file.read(8)[:7] + b"\x02")
        count = 0
        while True:
            tag, data = read_section(file)
            if tag == b"WORD":
                words = decode_chunk(data)
                kept = [
                    words[start:end]
                    for start, end in pairwise([*record_starts(words), len(words)])
                    if words[start] >> 56 != RecordKind.VALUES
                ]
                count += sum(map(len, kept))
                columns = unpack_columns(encode_chunk(np.concatenate(kept)))
                data = b"".join(map(pack_column, columns[:-1]))
            elif tag == b"DONE":
                data = b'{"words":%d}' % count
            packed = zlib.compress(data)
            out.write(tag + len(packed).to_bytes(8, "little") + packed)
            if tag == b"DONE":
                return


def test_a_trace_warns_on_a_gpu_that_its_code_was_not_made_for(tmp_path: Path) -> None:
    run = ready("saxpy.cu", "h100-sxm", Sampling(blocks=2))
    file = tmp_path / "launch.kct"
    with write_trace(file, head_of(run), "kernelcast") as writer:
        run.execute(writer)
    own, other = kc.traced_cases(file, [kc.machine("h100-sxm"), kc.machine("rtx-4090")])
    assert not any("sm_90" in warning for warning in own.kernel.warnings)
    assert any("sm_90" in warning for warning in other.kernel.warnings)


def test_a_list_of_accel_sim_is_a_case_for_every_launch(tmp_path: Path) -> None:
    run = ready("saxpy.cu", "h100-sxm", Sampling(blocks=3))
    folder = tmp_path / "traces"
    with export_trace(folder, head_of(run)) as writer:
        run.execute(writer)
    (trace,) = folder.glob("*.traceg")
    trace.with_name("kernel-2.traceg").write_bytes(trace.read_bytes())
    names = folder / "kernelslist.g"
    names.write_text(names.read_text() + "kernel-2.traceg\n")
    first, second = cases_of_traces(folder, [kc.machine("h100-sxm")])
    assert kc.predict(first).time_s == kc.predict(second).time_s > 0


def test_a_trace_of_another_version_is_one_clear_line(tmp_path: Path) -> None:
    file = tmp_path / "new.kct"
    file.write_bytes(b"KCTRACE\x09")
    with pytest.raises(InputError, match="format 09"):
        cases_of_traces(file, [kc.machine("h100-sxm")])
