"""What was measured is kept with the machine code that was measured."""

from __future__ import annotations

import gzip
import json

import pytest
from tests.kept import CACHE

from kernelcast.errors import InputError, KernelcastError, ToolError
from kernelcast.measuring import keep as kept
from kernelcast.measuring.harness import measure
from kernelcast.measuring.harness.archive import CompiledCode
from kernelcast.measuring.keep import keep
from kernelcast.measuring.pack import compile_benchmark, source_files
from kernelcast.toolchain.cache import Cache
from kernelcast.toolchain.nvdisasm import nvdisasm_paths

DEVICE = {
    "name": "Synthetic GPU",
    **dict.fromkeys(("sm_count", "clock_khz", "memory_bytes", "l2_bytes"), 1),
    "major": 9,
    "minor": 0,
}


@pytest.fixture
def cache(tmp_path) -> Cache:
    return Cache(tmp_path / "cache")


@pytest.fixture
def document() -> dict:
    """A raw file of one benchmark's code."""
    file = next(f for f in source_files() if f.stem == "launch")
    code = CompiledCode("sm_90", {"launch": compile_benchmark(file, "sm_90", CACHE).cubin})
    return {
        "schema": measure.SCHEMA,
        "suite": measure.SUITE,
        "device": DEVICE,
        "code": code.identity(),
        "benchmarks": {},
    }


def written(document, folder) -> str:
    file = folder / "measured.json"
    file.write_text(json.dumps(document))
    return str(file)


def test_the_file_is_kept_as_it_is_beside_the_listing_of_its_code(document, tmp_path, cache):
    try:
        nvdisasm_paths()
    except ToolError as error:
        pytest.skip(str(error))
    file = written(document, tmp_path)
    files = keep(file, tmp_path / "kept", cache)
    raw, listing = files
    assert raw.name == "raw.json.gz"
    assert gzip.decompress(raw.read_bytes()) == json.dumps(document).encode()
    assert keep(str(raw), tmp_path / "again", cache)[0].read_bytes() == raw.read_bytes()
    assert listing.relative_to(tmp_path / "kept").as_posix() == "sass/benchmarks/launch.sass.gz"
    assert "block_times" in gzip.decompress(listing.read_bytes()).decode()
    before = listing.read_bytes()
    keep(file, tmp_path / "kept", cache)
    assert listing.read_bytes() == before


def test_code_that_is_made_otherwise_today_is_not_passed_off_as_what_was_measured(
    document, tmp_path, cache
):
    document["code"]["launch.cubin"] = "0" * 64
    with pytest.raises(InputError, match=r"does not make: launch\.cubin"):
        keep(written(document, tmp_path), tmp_path / "kept", cache)
    assert not (tmp_path / "kept").exists()


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ({}, "does not say which code"),
        (None, "code: Expected `object`"),
        ({"architecture": 3}, r"code\[\.\.\.\]: Expected `str`"),
    ],
)
def test_a_file_that_names_no_code_is_refused(document, tmp_path, cache, code, why):
    with pytest.raises(InputError, match=why):
        keep(written({**document, "code": code}, tmp_path), tmp_path / "kept", cache)


@pytest.mark.parametrize("text", ["", "[]", '{"schema": "other"}'])
def test_what_is_no_raw_file_is_one_error(tmp_path, cache, text):
    file = tmp_path / "measured.json"
    file.write_text(text)
    with pytest.raises(KernelcastError, match=r"measured\.json"):
        keep(str(file), tmp_path / "kept", cache)


def test_every_kind_of_raw_file_has_a_name_of_its_own():
    names = [kind.name for kind in kept._KINDS.values()]
    assert sorted(names) == ["ground-truth.json.gz", "profiles.json.gz", "raw.json.gz"]
