from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelcast.toolchain.cache import Cache, content_key, default_directory


def entry(cache: Cache) -> Path:
    """The only entry's file."""
    assert cache.directory is not None
    (path,) = cache.directory.glob("*/??/*")
    return path


def test_an_entry_comes_back_and_an_unknown_key_does_not(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put("compilation", "key", b"data")
    assert cache.get("compilation", "key") == b"data"
    assert cache.get("compilation", "other") is None
    assert cache.get("object", "key") is None


def test_another_process_sees_the_entry(tmp_path: Path) -> None:
    Cache(tmp_path).put("compilation", b"key", b"data")
    assert Cache(tmp_path).get("compilation", "key") == b"data"


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:-1],
        lambda data: data[: len(data) // 2],
        lambda data: data + b"x",
        lambda data: data[:-1] + bytes([data[-1] ^ 1]),
        lambda data: bytes([data[0] ^ 1]) + data[1:],
        lambda data: data.replace(b"cache 1", b"cache 0", 1),
    ],
    ids=["empty", "cut", "half", "longer", "bit of data", "bit of head", "other version"],
)
def test_a_damaged_entry_is_a_miss_and_is_written_anew(tmp_path: Path, damage) -> None:
    cache = Cache(tmp_path)
    cache.put("object", "key", b"precious" * 100)
    path = entry(cache)
    path.write_bytes(damage(path.read_bytes()))
    assert cache.get("object", "key") is None
    cache.put("object", "key", b"again")
    assert cache.get("object", "key") == b"again"


def test_an_entry_moved_to_another_key_is_a_miss(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put("object", "right", b"data")
    right = entry(cache)
    cache.put("object", "wrong", b"other")
    wrong = next(p for p in tmp_path.glob("*/??/*") if p != right)
    wrong.write_bytes(right.read_bytes())
    assert cache.get("object", "wrong") is None


def test_a_read_only_directory_only_stops_writing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Cache(tmp_path).put("object", "old", b"data")

    def read_only(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system")

    for module, name in ((tempfile, "mkstemp"), (os, "utime"), (Path, "mkdir")):
        monkeypatch.setattr(module, name, read_only)
    cache = Cache(tmp_path)
    cache.put("object", "new", b"data")
    assert cache.get("object", "old") == b"data"
    assert cache.get("object", "new") is None


def test_a_directory_that_cannot_exist_behaves_like_an_empty_one(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    cache = Cache(tmp_path / "file" / "cache")
    cache.put("object", "key", b"data")
    assert cache.get("object", "key") is None


def test_a_full_disk_leaves_no_half_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_space(path: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", no_space)
    cache = Cache(tmp_path)
    cache.put("object", "key", b"data")
    assert cache.get("object", "key") is None
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == []


def test_no_directory_keeps_nothing() -> None:
    cache = Cache(None)
    cache.put("object", "key", b"data")
    assert cache.get("object", "key") is None


def _write_and_read(directory: str, seed: int) -> int:
    """How often a read gave something that nobody wrote."""
    cache = Cache(Path(directory))
    wrong = 0
    for turn in range(100):
        cache.put("object", "shared", bytes([seed]) * (1000 + turn))
        found = cache.get("object", "shared")
        wrong += found is None or len(set(found)) != 1 or len(found) < 1000
    return wrong


def test_two_processes_write_one_entry_and_every_read_is_whole(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    with context.Pool(2) as pool:
        wrong = pool.starmap(_write_and_read, [(str(tmp_path), 1), (str(tmp_path), 2)])
    assert wrong == [0, 0]
    assert [p.name[:4] for p in tmp_path.rglob("new-*")] == []


def test_the_entries_used_least_recently_are_pruned(tmp_path: Path) -> None:
    cache = Cache(tmp_path, max_bytes=10_000)
    for number in range(8):
        cache.put("object", str(number), bytes(1000))
        for path in tmp_path.glob("*/??/*"):
            old = path.stat().st_mtime_ns - 10**9
            os.utime(path, ns=(old, old))
        cache.get("object", "0")
    for number in range(8, 11):
        cache.put("object", str(number), bytes(1000))
    assert sum(p.stat().st_size for p in tmp_path.glob("*/??/*")) <= 10_000
    assert cache.get("object", "0") is not None, "it was used last"
    assert cache.get("object", "1") is None, "it was not used since it was written"
    assert cache.get("object", "10") is not None


@given(st.lists(st.binary(max_size=8), max_size=4), st.lists(st.binary(max_size=8), max_size=4))
def test_keys_are_equal_only_for_equal_parts(left: list[bytes], right: list[bytes]) -> None:
    assert (content_key(*left) == content_key(*right)) == (left == right)


def test_a_key_knows_where_its_parts_end() -> None:
    assert content_key("ab", "c") != content_key("a", "bc")
    assert content_key("", "a") != content_key("a")


def test_the_environment_names_the_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KERNELCAST_CACHE", str(tmp_path / "mine"))
    assert default_directory() == tmp_path / "mine"
    assert Cache().directory == tmp_path / "mine"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KERNELCAST_CACHE", "mine")  # programs that we start run elsewhere
    assert default_directory() == tmp_path / "mine"
    monkeypatch.delenv("KERNELCAST_CACHE")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_directory() == tmp_path / "kernelcast"
