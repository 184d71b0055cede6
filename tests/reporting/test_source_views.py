from dataclasses import replace

import pytest

from kernelcast.ir import Location, OpClass, Space
from kernelcast.models.terms.base import Bottleneck
from kernelcast.profiling.profile import AccessProfile, Count, LineProfile
from kernelcast.reporting.console import plain_text
from kernelcast.reporting.documents.accesses import wasteful_accesses
from kernelcast.reporting.documents.lines import ranked_lines
from kernelcast.reporting.documents.result import Result, result
from kernelcast.reporting.text.result import access_words, render_lines, render_result


def line(number, *, warps=1.0, sectors=0.0, requests=0.0, passes=0.0, ideal=0.0):
    return LineProfile(
        Location("k.cu", number), Count(warps, 32 * warps), sectors, requests, passes, ideal
    )


LINES = (
    line(1, warps=900),
    line(2, warps=50, sectors=800, requests=100),
    line(3, warps=50, passes=640, ideal=20),
)


@pytest.mark.parametrize(
    ("bottleneck", "first"),
    [
        (Bottleneck.DRAM_BANDWIDTH, 2),
        (Bottleneck.SHARED_BANDWIDTH, 3),
        (Bottleneck.ISSUE, 1),
    ],
)
def test_lines_are_ranked_by_what_binds(profile, bottleneck, first):
    ranked = ranked_lines(replace(profile, lines=LINES), bottleneck)
    assert ranked[0].location.line == first


def shown(one: Result) -> str:
    """The table of source lines as text."""
    table = render_lines(one.costly_lines)
    assert table is not None
    return plain_text(table)


def test_a_line_shows_its_source_where_the_file_can_be_read(prediction, tmp_path):
    file = tmp_path / "k.cu"
    file.write_text("// first\n  y[i] = a * x[i];\n")
    lines = (replace(LINES[1], location=Location(str(file), 2)),)
    profile = replace(prediction.case.profile, lines=lines)
    case = replace(prediction.case, profile=profile)
    text = shown(result(replace(prediction, case=case)))
    assert "k.cu:2" in text
    assert "y[i] = a * x[i];" in text
    assert "8.00" in text  # sectors per request


def test_bank_conflicts_stand_beside_their_line(prediction):
    profile = replace(prediction.case.profile, lines=LINES)
    case = replace(prediction.case, profile=profile)
    shared = replace(prediction, case=case, bottleneck=Bottleneck.SHARED_BANDWIDTH)
    assert "32.0-fold" in shown(result(shared, lines=1))


def access(space, **sums):
    return AccessProfile(0, OpClass.LOAD, space, 4, Location("k.cu", 7), 100.0, 3200.0, **sums)


def test_a_coalesced_access_is_not_wasteful(profile):
    good = (access(Space.GLOBAL, sectors=400.0),)
    assert wasteful_accesses(replace(profile, accesses=good)) == []


def test_a_broadcast_is_not_wasteful(profile):
    same_word = (access(Space.GLOBAL, sectors=100.0),)
    assert wasteful_accesses(replace(profile, accesses=same_word)) == []


def test_a_strided_access_is_wasteful(profile):
    bad = (access(Space.GLOBAL, sectors=3200.0),)
    (found,) = wasteful_accesses(replace(profile, accesses=bad))
    assert (found.taken, found.fewest, found.share) == (3200.0, 400.0, 1.0)
    assert access_words(found) == (
        "k.cu:7: ld.global.f32: 32.0 sectors per request where 4.00 would do; 100 % of all sectors"
    )


def test_a_bank_conflict_is_wasteful(profile):
    bad = (access(Space.SHARED, passes=3200.0, ideal_passes=100.0),)
    (found,) = wasteful_accesses(replace(profile, accesses=bad))
    assert "32.0-fold bank conflict" in access_words(found)


def test_an_access_that_hardly_matters_is_left_out(profile):
    mixed = (access(Space.GLOBAL, sectors=3200.0), access(Space.GLOBAL, sectors=1e6))
    found = wasteful_accesses(replace(profile, accesses=mixed))
    assert len(found) == 1


def test_divergent_loads_are_told_by_their_line(prediction):
    # Of 1000 instructions, 100 are divergent loads in line 7, and 10 of one that nobody places.
    loads = (
        replace(access(Space.GLOBAL, lines=3200.0, divergent=100.0), requests=100.0),
        replace(access(Space.GLOBAL, lines=100.0), requests=100.0),
        replace(access(Space.GLOBAL, lines=100.0, divergent=10.0), location=None),
    )
    counts = {OpClass.LOAD: Count(300, 9600), OpClass.FP32: Count(700, 22400)}
    profile = replace(prediction.case.profile, accesses=loads, counts=counts)
    case = replace(prediction.case, profile=profile)
    found = result(replace(prediction, case=case))
    assert (found.divergence.dpki, found.divergence.is_memory_divergent) == (110.0, True)
    first, second = found.divergence.lines
    assert (first.file, first.line, first.dpki, first.lines_per_request) == ("k.cu", 7, 100.0, 32.0)
    assert (second.file, second.line, second.dpki) == (None, None, 10.0)
    text = " ".join(plain_text(render_result(found)).split())
    assert "DPKI 110 divergent loads per 1000 warp instructions: memory-divergent" in text
    assert "k.cu:7: ld.global.f32, 32.0 lines per request" in text


def test_a_launch_without_divergent_loads_says_nothing_of_them(prediction):
    found = result(prediction)
    assert found.divergence.lines == [] and not found.divergence.is_memory_divergent
    assert "DPKI" not in plain_text(render_result(found))
