"""Pages: the same figures as the document, all text escaped, nothing loaded and nothing run."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text

from kernelcast.exploration.gains import Gain, WhatIf
from kernelcast.ir import Location
from kernelcast.models.terms.base import Bottleneck
from kernelcast.reporting.documents.base import as_json
from kernelcast.reporting.documents.compare import compare_document
from kernelcast.reporting.documents.explain import ExplainDocument, explain_document
from kernelcast.reporting.documents.next_steps import USUAL
from kernelcast.reporting.documents.predict import predict_document
from kernelcast.reporting.documents.report import (
    Background,
    ReportDocument,
    background,
    page_of,
    report_document,
)
from kernelcast.reporting.documents.result import result
from kernelcast.reporting.documents.simulated import SimulatedPart
from kernelcast.reporting.documents.sources import ShownFile, TextLine
from kernelcast.reporting.documents.what_if import what_if_result
from kernelcast.reporting.figures import grouped, percent, seconds
from kernelcast.reporting.html import page
from kernelcast.reporting.html.words import view_markup
from kernelcast.reporting.layout import bullets, columns, facts, section, spaced
from kernelcast.simulation.removals import Removal

EVIL = "</code></script><script>alert(1)</script><img src=x onerror=alert(2)>\" ' & <<<"
VOID = {"meta", "link", "br", "img"}


class Reader(HTMLParser):
    """Collects tags with their attributes, texts, and whether tags are closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.texts.append(data)


def read(markup: str) -> Reader:
    reader = Reader()
    reader.feed(markup)
    reader.close()
    assert not reader.open
    return reader


def words_of(markup: str) -> str:
    return re.sub(r"\s+", " ", " ".join(read(markup).texts))


@pytest.fixture
def document(prediction) -> ReportDocument:
    return report_document([prediction], predict_document([prediction]))


def test_the_figures_are_those_of_the_document(document):
    words = words_of(page(document))
    (explained,) = document.explained
    found = explained.result
    assert f"{found.title} on h100-sxm: {seconds(found.time_s)}" in words
    assert found.bottleneck in words
    for part in found.breakdown:
        assert grouped(part.cycles) in words
    for unit in explained.speed_of_light:
        assert percent(unit.share) in words
    for step in explained.what_to_do:
        assert step in words
    for text in (*found.assumptions, *found.not_modelled, *found.warnings):
        assert text in words


def test_a_page_follows_from_what_json_says(document):
    again = msgspec.convert(as_json(document), ReportDocument)
    assert page(again) == page(document)


def test_nothing_is_loaded_and_nothing_runs(document):
    reader = read(page(document))
    assert not {"script", "iframe", "object", "embed", "base", "form"} & {t for t, _ in reader.tags}
    for tag, attributes in reader.tags:
        assert not [name for name in attributes if name.startswith("on")]
        for name in ("href", "src"):
            target = attributes.get(name)
            assert target is None or target.startswith("#") or (tag, target) == ("link", "data:,")
    (policy,) = [a["content"] for t, a in reader.tags if a.get("http-equiv")]
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    assert "url(" not in page(document)


def with_source(document: ReportDocument, text: str) -> ReportDocument:
    (explained,) = document.explained
    place = explained.lines[0]
    source = ShownFile(place.file, text, True, [TextLine(place.line, text)])
    told = msgspec.structs.replace(
        explained.result, title=text, kernel=text, assumptions=[text], warnings=[text]
    )
    changed = msgspec.structs.replace(
        explained,
        result=told,
        sources=[source],
        what_to_do=[text],
        instructions=[msgspec.structs.replace(i, text=text) for i in explained.instructions],
    )
    return page_of([changed])


def test_source_with_markup_in_it_is_text(document):
    markup = page(with_source(document, EVIL))
    assert "<script" not in markup
    reader = read(markup)
    assert not [t for t, _ in reader.tags if t in ("script", "img")]
    assert " ".join(EVIL.split()) in words_of(markup)


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1))
def test_no_text_of_a_view_becomes_markup(text):
    table = columns("name", "figure", left=("name",))
    table.add_row(Text(text), "1")
    named = facts()
    named.add_row(text, Text(text))
    view = spaced([section("A title", table), section(text, bullets([text])), named])
    reader = read(view_markup(view))
    known = {"h2", "div", "table", "thead", "tbody", "tr", "th", "td", "ul", "li"}
    assert {tag for tag, _ in reader.tags} <= known
    if text.strip():
        assert text.strip() in "\n".join(reader.texts)


def test_anchors_lead_somewhere_and_no_name_is_used_twice(document):
    reader = read(page(document))
    names = [a["id"] for _, a in reader.tags if "id" in a]
    assert len(names) == len(set(names))
    targets = {a["href"] for t, a in reader.tags if t == "a"}
    assert len(targets) > 10
    assert {t.removeprefix("#") for t in targets if t} <= set(names)


def test_every_instruction_leads_to_its_line_and_the_line_to_its_first_instruction(document):
    (explained,) = document.explained
    reader = read(page(document))
    links = [a["href"] for t, a in reader.tags if t == "a"]
    assert links.count("#r1s0-4") == len(explained.instructions) + 1  # the line marks itself
    assert links.count("#r1i0") == 1


def test_headings_do_not_skip_a_level(prediction, elsewhere):
    both = report_document([prediction, elsewhere], predict_document([prediction, elsewhere]))
    for document in (page_of([explain_document(prediction)]), both):
        tags = [t for t, _ in read(page(document)).tags]
        levels = [int(t[1]) for t in tags if re.fullmatch(r"h\d", t)]
        assert levels[0] == 1
        assert levels.count(1) == 1
        assert all(b - a <= 1 for a, b in pairwise(levels))
        assert {"header", "nav", "main", "footer"} <= set(tags)


def test_several_results_stand_side_by_side_first(prediction, elsewhere):
    both = [prediction, elsewhere]
    words = words_of(page(report_document(both, predict_document(both))))
    assert words.index("Side by side") < words.index("GPU speed of light")
    assert seconds(prediction.time_s) in words
    assert seconds(elsewhere.time_s) in words


def test_versions_of_a_kernel_stand_side_by_side(prediction):
    slower = replace(prediction, time_s=2e-5)
    found = compare_document({"a.cu": [prediction], "b.cu": [slower]})
    words = words_of(page(report_document([prediction, slower], found)))
    assert "a.cu is fastest" in words
    assert "b.cu" in words


def test_a_page_without_the_source_says_so(document):
    assert "saxpy.cu: the file is not at hand" in words_of(page(document))


def test_the_source_around_the_lines_is_shown(prediction, tmp_path):
    file = tmp_path / "k.cu"
    file.write_text("".join(f"line {n}\n" for n in range(1, 101)))
    places = [Location(str(file), 50), Location(str(file), 90)]
    instructions = tuple(
        replace(i, location=places[i.index % 2]) for i in prediction.case.kernel.instructions
    )
    kernel = replace(prediction.case.kernel, instructions=instructions)
    profile = replace(prediction.case.profile, kernel=kernel)
    case = replace(prediction.case, kernel=kernel, profile=profile)
    (source,) = explain_document(replace(prediction, case=case)).sources
    shown = [line.line for line in source.lines]
    assert shown == [*range(42, 59), *range(82, 99)]
    assert source.lines[0].text == "line 42"


def test_costs_are_shares(prediction):
    explained = explain_document(prediction)
    assert explained.heat == "sectors of global and local memory"
    assert sum(i.cost for i in explained.instructions) == pytest.approx(1)
    assert [i.cost for i in explained.instructions] == pytest.approx([1 / 3, 1 / 3, 0, 1 / 3])
    assert explained.lines[0].cost == pytest.approx(1)


def test_the_roofline_of_a_saxpy(prediction):
    flops = replace(prediction.case.profile, flops={"fp32": 2.0 * (1 << 20)})
    case = replace(prediction.case, profile=flops)
    found = explain_document(replace(prediction, case=case)).roofline
    assert found is not None
    assert found.per_s == pytest.approx(2 * (1 << 20) / 5e-6)
    by_name = {level.name: level for level in found.levels}
    # Two operations for three words of four bytes.
    assert by_name["DRAM"].intensity == pytest.approx(2 / 12)


def test_something_can_be_done_about_every_bottleneck():
    assert set(map(str, Bottleneck)) <= set(USUAL)


@pytest.mark.parametrize("bottleneck", Bottleneck)
def test_what_to_do_is_never_empty(prediction, bottleneck):
    found = explain_document(replace(prediction, bottleneck=bottleneck))
    assert found.what_to_do


def test_a_large_kernel_makes_a_page_below_a_megabyte(document):
    (explained,) = document.explained
    place, one = explained.lines[0], explained.instructions[0]
    lines = [msgspec.structs.replace(place, line=n) for n in range(1, 501)]
    text = "    float value = input[blockIdx.x * blockDim.x + threadIdx.x] * scale;"
    source = ShownFile(place.file, "k.cu", True, [TextLine(n, text) for n in range(1, 501)])
    instructions = [
        msgspec.structs.replace(
            one, index=n, line=n % 500 + 1, text="LDG.E.CONSTANT R12, desc[UR4][R2.64+0x200]"
        )
        for n in range(1000)
    ]
    large: ExplainDocument = msgspec.structs.replace(
        explained, lines=lines, sources=[source], instructions=instructions
    )
    assert len(page(page_of([large])).encode()) < 1_000_000


def test_a_document_without_a_page_of_its_own_shows_its_text(prediction):
    from kernelcast.models import load_model
    from kernelcast.reporting.documents.model import model_document

    found = model_document(load_model("volkov"))
    words = words_of(page(found))
    for text in (found.source, *found.not_modelled):
        assert text in words


def test_results_carry_their_meaning(prediction):
    words = words_of(page(page_of([explain_document(prediction)])))
    meaning = result(prediction).meaning
    assert meaning[1:] in words


def test_the_first_line_says_time_interval_bottleneck_and_model(prediction):
    told = replace(prediction, low_s=4e-6, high_s=7e-6)
    words = words_of(page(report_document([told], predict_document([told]))))
    label = result(told).model_label
    line = f"5.00 us (4.00 us to 7.00 us), bound by {told.bottleneck}, by the {label} model"
    assert words.index(line) < words.index("What to do")


def test_the_first_line_of_several_says_the_interval_of_the_fastest(prediction, elsewhere):
    told = [replace(p, low_s=p.time_s / 2, high_s=2 * p.time_s) for p in (prediction, elsewhere)]
    words = words_of(page(report_document(told, predict_document(told))))
    first = min(told, key=lambda p: p.time_s)
    assert first.low_s is not None
    assert first.high_s is not None
    line = f"{seconds(first.low_s)} to {seconds(first.high_s)} on {first.case.machine.name}, by the"
    assert words.index(line) < words.index("Side by side")


def test_the_background_of_a_result(prediction):
    told = background(prediction)
    assert told.costs is None, "nothing was simulated"
    words = words_of(page(report_document([prediction], predict_document([prediction]), [told])))
    machine = prediction.case.machine
    assert "dram.bandwidth" in told.numbers
    for path, number in told.numbers.items():
        assert path in words
        assert number.source == machine.quantities[path].source
        assert number.source in words
    assert "this launch was not simulated" in words


def test_what_bottlenecks_cost_is_on_the_page(prediction):
    gains = (
        Gain((Removal.DRAM_BANDWIDTH,), 2.85e-6, 2.15e-6, Bottleneck.L2_BANDWIDTH),
        Gain((Removal.TAIL,), 4.99e-6, 0.01e-6, Bottleneck.DRAM_BANDWIDTH),
    )
    told = Background({}, what_if_result(WhatIf(prediction, gains, noise=0.01)))
    explained = explain_document(prediction)
    simulated = msgspec.structs.replace(explained, simulated=SimulatedPart([], {}, None))
    words = words_of(page(page_of([simulated], backgrounds=[told])))
    costs = words.partition("simulates more of it")[2].partition("Assumptions")[0]
    assert "dram-bandwidth 43 % 1.75 x l2 bandwidth" in costs
    assert "tail" not in costs, "less than a hundredth is noise"
    assert "Not ranked" in words_of(page(page_of([simulated])))
