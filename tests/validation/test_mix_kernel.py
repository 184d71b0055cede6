"""The generated kernel holds the instructions of its mix and no others, and chases its pointers."""

from __future__ import annotations

import collections
import math
import re
from functools import cache

import pytest
from tests.kept import CACHE

from kernelcast.api import Sampling, cases, workload
from kernelcast.errors import InputError, ToolError
from kernelcast.ir import Space
from kernelcast.machines.loader import load_machine
from kernelcast.models.terms.base import Bottleneck
from kernelcast.models.terms.mix import Mix, MixKind, mix_work
from kernelcast.models.volkov import Volkov
from kernelcast.toolchain.nvdisasm import disassemble, nvdisasm_paths
from kernelcast.toolchain.nvrtc import compile_cuda
from kernelcast.validation.arena import GPUS
from kernelcast.validation.mix_kernel import mix_kernel

MIXES = {
    "streaming": Mix(8),
    "loads": Mix(0),
    "chains": Mix(3, ilp=4),
    "strided": Mix(8, MixKind.STRIDED, 2),
    "random": Mix(8, MixKind.RANDOM),
    "cached": Mix(512, MixKind.CACHED),
    "shared": Mix(8, MixKind.SHARED, 4),
    "no conflicts": Mix(8, MixKind.SHARED),
    "eight chains": Mix(2, MixKind.RANDOM, ilp=8),
    "sfu": Mix(8, MixKind.SFU),
    "additions": Mix(math.inf, ilp=2),
}
ARCHITECTURES = ("sm_75", "sm_80", "sm_90", "sm_100", "sm_120")
SLOW = {MixKind.SHARED: "LDS", MixKind.SFU: "MUFU"}
"""What the slow instruction is in machine code; LDG for all loads from global memory."""


_NAMES = re.compile(r"mix((?:_fill)?)[(]")


@cache
def listing_of(architecture: str) -> str:
    """The machine code of all mixes, compiled together: `mix0`, `mix1`, ..."""
    sources = (mix_kernel(mix, blocks=4, threads=64).source for mix in MIXES.values())
    text = "\n".join(
        "namespace n{} {{\n{}\n}}".format(n, _NAMES.sub(rf"mix{n}\1(", source))
        for n, source in enumerate(sources)
    )
    cubin = compile_cuda(text, name="mix.cu", architecture=architecture, cache=CACHE).cubin
    return disassemble(cubin, CACHE)


def loop_opcodes(listing: str, name: str) -> list[str]:
    """Opcodes of the largest loop of a kernel, from its label to the branch back to it."""
    text = listing[listing.index(f".text.{name}:") :]
    lines = text[: text.find("\n//------")].splitlines()
    labels: dict[str, int] = {}
    loops = [(0, 0)]
    for i, line in enumerate(lines):
        if label := re.match(r"\s*(\.L_\S+):", line):
            labels[label[1]] = i
        back = re.search(r"BRA.*`\((\.L_\S+?)\)", line)
        if back and back[1] in labels:
            loops.append((labels[back[1]], i))
    start, end = max(loops, key=lambda loop: loop[1] - loop[0])
    code = re.compile(r"\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_]*)")
    return [found[1] for line in lines[start : end + 1] if (found := code.match(line))]


@pytest.fixture
def need_nvdisasm():
    try:
        nvdisasm_paths()
    except ToolError as missing:
        pytest.skip(f"the machine code cannot be read: {missing}")


@pytest.mark.usefixtures("need_nvdisasm")
@pytest.mark.parametrize("name", MIXES)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_loop_holds_the_mix_and_nothing_else(name, architecture):
    mix = MIXES[name]
    made = mix_kernel(mix, blocks=4, threads=64)
    kernel = f"mix{list(MIXES).index(name)}"
    counts = collections.Counter(loop_opcodes(listing_of(architecture), kernel))
    assert counts.pop("FADD", 0) + counts.pop("FFMA", 0) == made.additions
    assert counts.pop(SLOW.get(mix.kind, "LDG"), 0) == made.slow
    # The loop itself: a count, a comparison, at most two jumps, and per chain two moves.
    assert counts.total() <= 4 + 8 * mix.ilp, counts


def executed(tmp_path, mix: Mix, **launch: int):
    file = tmp_path / "mix.cu"
    made = mix_kernel(mix, **launch)
    file.write_text(made.source, encoding="utf-8")
    return made, cases(workload(file), [load_machine("h100-sxm")], sampling=Sampling(exact=True))[
        -1
    ].profile


@pytest.mark.parametrize(
    ("name", "sectors", "lines"),
    [("streaming", 4, 1), ("strided", 8, 2), ("random", 32, 32), ("cached", 4, 1)],
)
def test_loads_touch_what_their_kind_says(tmp_path, name, sectors, lines):
    mix = MIXES[name]
    made, profile = executed(tmp_path, mix, blocks=2, threads=64, iterations=2)
    loads = [a for a in profile.accesses if a.is_load and a.space is Space.GLOBAL]
    requests = sum(a.requests for a in loads)
    assert requests == 2 * made.slow * 4
    assert sum(a.sectors for a in loads) / requests == pytest.approx(sectors, rel=0.02)
    assert sum(a.lines for a in loads) / requests == pytest.approx(lines, rel=0.02)
    (chain,) = (f for f in profile.footprints if f.label == "chain")
    reuse = chain.requested_sectors / chain.distinct_sectors
    assert reuse == pytest.approx(2 * made.slow if mix.kind is MixKind.CACHED else 1)


def test_the_kernel_of_random_loads_is_predicted_like_the_abstract_mix(tmp_path):
    """On each chip its own measured rate, from counts alone; latencies but for what the loop adds.

    240 blocks of 2 warps are more than any of the five needs to be bound by that rate.
    """
    file = tmp_path / "mix.cu"
    mix = MIXES["random"]
    made = mix_kernel(mix, blocks=240, threads=64, iterations=1)
    file.write_text(made.source, encoding="utf-8")
    machines = [load_machine(name) for name in GPUS]
    model = Volkov(contention=False)
    for case in cases(workload(file), machines, sampling=Sampling(exact=True)):
        if case.kernel.name != "mix":
            continue
        work = mix_work(case.machine, mix, 8)
        p, view = model.predict(case), model.view(case)
        assert float(work.bound) < 8 / float(work.alone_cycles)
        spread_evenly = made.slow * view.waves.warps_per_sm / float(work.bound)
        parts = {part.name: part.cycles for part in p.breakdown}
        assert p.bottleneck is Bottleneck.DRAM_BANDWIDTH
        # A few of the random words lie in the same place of the DRAM as one that waits with them.
        assert 0.96 * spread_evenly < parts["dram bandwidth"] <= 1.002 * spread_evenly
        replacement = case.machine.number("latency.block_replacement")
        alone = (view.waves.latency.a - replacement) / made.slow
        assert alone == pytest.approx(float(work.alone_cycles), rel=0.03)


@pytest.mark.parametrize("ways", [1, 2, 8, 32])
def test_shared_loads_conflict_as_asked(tmp_path, ways):
    mix = Mix(8, MixKind.SHARED, ways)
    _, profile = executed(tmp_path, mix, blocks=1, threads=64, iterations=2)
    chased = max(
        (a for a in profile.accesses if a.is_load and a.space is Space.SHARED),
        key=lambda a: a.requests,
    )
    assert chased.passes / chased.requests == ways


@pytest.mark.parametrize(
    ("mix", "launch"),
    [
        (Mix(1.5), {}),
        (Mix(1 << 20), {}),
        (Mix(8), {"threads": 48}),
        (Mix(8), {"threads": 2048}),
        (Mix(8), {"blocks": 0}),
        (Mix(0), {"blocks": 1 << 20}),
    ],
)
def test_kernels_that_cannot_be_made(mix, launch):
    with pytest.raises(InputError):
        mix_kernel(mix, **{"blocks": 4, "threads": 64, **launch})
