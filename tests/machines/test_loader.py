"""Machines by name and by file, what a file must hold, and overrides."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kernelcast.errors import InputError, KernelcastError, NotFoundError, ParseError
from kernelcast.machines.cache_shapes import SHAPES
from kernelcast.machines.loader import apply_overrides, load_machine, machine_names
from kernelcast.machines.machine import Provenance
from kernelcast.machines.schema import ENTRIES

MINIMAL = """
schema = "kernelcast/machine/1"
version = "3"
title = "My chip"
vendor = "NVIDIA"
chip = "GH100"
architecture = "Hopper"
compute_capability = "9.0"
[sm]
count = { value = 2, unit = "1", kind = "measured", source = "counted" }
"""


def write(folder: Path, text: str) -> str:
    file = folder / "my-chip.toml"
    file.write_text(text, encoding="utf-8")
    return str(file)


def test_at_least_sixty_gpus_from_8800_gtx_to_b300_and_rtx_5090() -> None:
    names = machine_names()
    assert len(names) >= 60
    assert {"8800-gtx", "gtx-280", "gtx-680", "a100-sxm-80gb", "rtx-a4000"} <= set(names)
    assert {"h100-sxm", "gh200", "b200", "b300", "rtx-5090"} <= set(names)


@pytest.mark.parametrize("spelling", ["H100-SXM", "h100 sxm", " h100_sxm ", "h100-sxm"])
def test_names_are_read_leniently(spelling: str) -> None:
    assert load_machine(spelling).name == "h100-sxm"


def test_an_unknown_name_answers_with_the_nearest() -> None:
    with pytest.raises(NotFoundError) as error:
        load_machine("h100-smx")
    assert error.value.nearest[0] == "h100-sxm"
    assert "did you mean h100-sxm" in str(error.value)


def test_a_file_inherits_from_its_compute_capability_and_its_own_numbers_win(
    tmp_path: Path,
) -> None:
    own = 'fp64 = { value = 1, unit = "results/cycle/SM", kind = "assumed", source = "me" }'
    machine = load_machine(write(tmp_path, MINIMAL + "[throughput]\n" + own))
    assert (machine.name, machine.version, machine.number("sm.count")) == ("my-chip", "3", 2)
    assert machine.number("throughput.fp64") == 1
    assert machine.number("throughput.fp32") == 128
    assert machine.number("occupancy.shared_per_sm") == 228 * 1024
    assert load_machine("h100-sxm").number("throughput.fp64") == 64


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('unit = "1", ', "", "sm.count: has no unit"),
        (', kind = "measured"', "", "sm.count: has no kind"),
        (', source = "counted"', "", "sm.count: has no source"),
        ('{ value = 2, unit = "1", kind = "measured", source = "counted" }', "2", "has no kind"),
        ('kind = "measured"', 'kind = "guessed"', "sm.count: kind is 'guessed'"),
        ('kind = "measured"', "kind = []", "sm.count: kind is"),
        ('source = "counted"', 'source = " "', "sm.count: source is empty"),
        ('source = "counted"', 'source = "counted", note = "x"', "has unknown keys"),
        ('unit = "1"', 'unit = "kHz"', "sm.count: unit is 'kHz'"),
        ("value = 2", "value = -2", "sm.count: -2 is out of range"),
        ("value = 2", "value = 2.5", "sm.count: 2.5 is out of range"),
        ("value = 2", "value = nan", "sm.count: nan is out of range"),
        ("value = 2", 'value = "2"', "sm.count: '2' is not a number"),
        ("value = 2", "value = true", "sm.count: True is not a number"),
        ("count = {", "counts = {", "unknown machine number 'sm.counts'; did you mean sm.count"),
        ('schema = "kernelcast/machine/1"', 'schema = "other"', "schema is 'other'"),
        ('version = "3"', "", "no version"),
        ('title = "My chip"', "", "no text for title"),
        ('"9.0"', '"9.7"', "unknown compute capability '9.7'; did you mean 9.0"),
        ("[sm]", "[sm", "not TOML"),
        ('"counted"', '"{jai-2019}"', "sm.count: unknown source 'jai-2019'; did you mean jia-2019"),
        ('"counted"', '"as T4: {}"', "sm.count: unknown source ''"),
        ("[sm]", "[sources]\nrun = 3\n[sm]", "sources.run: no text"),
        ("[sm]", "[sources]\nrun = ' '\n[sm]", "sources.run: no text"),
        ('version = "3"', 'version = "3"\nsources = "x"', "sources is not a table"),
    ],
)
def test_a_bad_file_is_refused_with_file_and_path(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    assert old in MINIMAL
    with pytest.raises(InputError) as error:
        load_machine(write(tmp_path, MINIMAL.replace(old, new)))
    assert message in str(error.value)
    assert "my-chip.toml" in str(error.value)


def test_a_source_cites_texts_of_its_file_and_shared_ones(tmp_path: Path) -> None:
    text = MINIMAL.replace("[sm]", '[sources]\nrun = "my run"\n[sm]').replace(
        "counted", "{run}; {wong-2010}"
    )
    source = load_machine(write(tmp_path, text)).quantities["sm.count"].source
    assert source == "my run; Wong et al. 2010, Demystifying GPU Microarchitecture (ISPASS)"


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        load_machine(str(tmp_path / "absent.toml"))
    with pytest.raises(InputError, match="directory"):
        (tmp_path / "folder.toml").mkdir()
        load_machine(str(tmp_path / "folder.toml"))
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe")
    with pytest.raises(ParseError, match="UTF-8"):
        load_machine(str(binary))


@settings(max_examples=200, deadline=None)
@given(st.text(st.sampled_from("[]{}=\"'#.\n abcsm0159-_,")))
def test_any_text_loads_or_is_refused_by_an_error_of_the_tree(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    file = tmp_path_factory.getbasetemp() / "fuzz.toml"
    file.write_text(MINIMAL + text, encoding="utf-8")
    try:
        load_machine(str(file))
    except KernelcastError as error:
        assert "fuzz.toml" in str(error)


# ----------------------------------------------------------------------- overrides


def test_overrides_replace_and_add_and_are_remembered() -> None:
    machine = load_machine("gtx-280")
    assert machine.get("latency.l2") is None
    changed = apply_overrides(machine, ["dram.bandwidth=2.0e12", " latency.l2 = 300 "])
    quantity = changed.quantities["dram.bandwidth"]
    assert (quantity.value, quantity.unit) == (2.0e12, "byte/s")
    assert (quantity.kind, quantity.source) == (Provenance.ASSUMED, "--set")
    assert changed.number("latency.l2") == 300
    assert changed.overrides == ("dram.bandwidth", "latency.l2")
    assert machine.number("dram.bandwidth") == 141.7e9


def test_a_list_is_set_as_a_whole_and_sorted() -> None:
    machine = apply_overrides(load_machine("t4"), ["occupancy.shared_carveouts=65536,32768"])
    assert machine.numbers("occupancy.shared_carveouts") == (32768, 65536)


def test_no_override_leaves_the_machine_as_it_is() -> None:
    machine = load_machine("t4")
    assert apply_overrides(machine, []) is machine


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dram.bandwith=1e12", "did you mean dram.bandwidth"),
        ("dram.bandwidth", "no value"),
        ("dram.bandwidth=", "no value"),
        ("dram.bandwidth=fast", "'fast' is not a number"),
        ("dram.bandwidth=-1", "out of range"),
        ("dram.bandwidth=nan", "out of range"),
        ("dram.bandwidth=inf", "out of range"),
        ("dram.bandwidth=1e12,2e12", "one number, not a list"),
        ("sm.count=1.5", "out of range"),
    ],
)
def test_a_bad_override_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        apply_overrides(load_machine("t4"), [text])
    assert message in str(error.value)
    assert f"--set {text}" in str(error.value)


@given(st.sampled_from([p for p, e in ENTRIES.items() if not e.is_list]), st.floats())
@example("l1.size", 1.0)
@example("l2.ways", 15.0)
@example("l2.ways", 8.0)
def test_an_override_holds_exactly_the_values_in_range(path: str, value: float) -> None:
    """Those of caches must fit each other, too: sets are whole."""
    entry, chip = ENTRIES[path], load_machine("t4")
    allowed = entry.low <= value <= entry.high and (not entry.is_whole or value.is_integer())
    for shape in SHAPES if allowed else ():
        if path in shape:
            size, ways, line = (value if p == path else chip.number(p) for p in shape)
            allowed = size % (ways * line) == 0
    try:
        machine = apply_overrides(chip, [f"{path}={value!r}"])
    except InputError:
        assert not allowed
    else:
        assert allowed and machine.number(path) == value


def test_the_example_of_the_documentation_loads(tmp_path: Path) -> None:
    guide = Path(__file__).parents[2] / "docs" / "how-to-add-a-gpu.md"
    example = guide.read_text(encoding="utf-8").split("```toml\n")[1].split("```")[0]
    machine = load_machine(write(tmp_path, example))
    assert machine.number("sm.count") == 80
    assert machine.number("throughput.fp32") == 128


def test_ways_that_do_not_divide_a_cache_are_refused():
    with pytest.raises(InputError, match=r"--set l2.ways: l2.size .* no multiple of 15 ways"):
        apply_overrides(load_machine("h100-sxm"), ["l2.ways=15"])


def test_what_a_chase_finds_of_the_l1_cache_follows_its_size():
    chip = load_machine("h100-sxm")
    twice = apply_overrides(chip, [f"l1.size={2 * chip.number('l1.size')}"])
    assert twice.number("l1.reach") == pytest.approx(2 * chip.number("l1.reach"))
    assert "rescaled to an l1.size of" in twice.quantities["l1.reach"].source
    given = apply_overrides(chip, [f"l1.size={2 * chip.number('l1.size')}", "l1.reach=1e5"])
    assert given.number("l1.reach") == 1e5
