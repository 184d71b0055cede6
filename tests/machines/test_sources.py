"""Sources that numbers cite by key."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelcast.errors import InputError, NotFoundError
from kernelcast.machines.sources import file_sources, full_source

KNOWN = {"run": "my run of 2025", "wong-2010": "Wong et al. 2010"}


@pytest.mark.parametrize(
    ("source", "full"),
    [
        ("counted by hand", "counted by hand"),
        ("{run}", "my run of 2025"),
        ("as T4: {run}, table 2; {wong-2010}", "as T4: my run of 2025, table 2; Wong et al. 2010"),
        ("{run}{run}", "my run of 2025my run of 2025"),
    ],
)
def test_a_key_in_braces_stands_for_its_text(source: str, full: str) -> None:
    assert full_source(source, KNOWN, "") == full


@given(st.text())
def test_a_text_without_braces_is_itself(text: str) -> None:
    plain = text.replace("{", "(").replace("}", ")")
    assert full_source(plain, KNOWN, "") == plain


@given(st.lists(st.one_of(st.sampled_from(list(KNOWN)), st.text("ab ,:")), max_size=5))
def test_the_text_around_keys_stays(parts: list[str]) -> None:
    source = "".join(f"{{{part}}}" if part in KNOWN else part for part in parts)
    assert full_source(source, KNOWN, "") == "".join(KNOWN.get(part, part) for part in parts)


def test_an_unknown_key_is_answered_with_the_nearest() -> None:
    with pytest.raises(NotFoundError, match=r"my\.toml: sm\.count: unknown source 'rum'") as error:
        full_source("as T4: {rum}", KNOWN, "my.toml: sm.count")
    assert error.value.nearest == ("run",)


def test_a_file_cites_its_own_texts_before_the_shared_ones() -> None:
    known = file_sources({"wong-2010": "my copy", "run": "mine"}, "my.toml")
    assert (known["wong-2010"], known["run"]) == ("my copy", "mine")
    assert known["volkov-2016"].startswith("Volkov 2016")


@pytest.mark.parametrize("table", ["text", {"run": 3}, {"run": " "}, {"run": {"deep": "x"}}])
def test_sources_that_are_no_table_of_texts_are_refused(table: object) -> None:
    with pytest.raises(InputError, match=r"my\.toml"):
        file_sources(table, "my.toml")
