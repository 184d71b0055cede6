"""Answers of gates, as properties draw them."""

from __future__ import annotations

from hypothesis import strategies as st

from kernelcast.reporting.documents.gate import CheckPart, GateDocument

texts = st.text(max_size=20)


@st.composite
def documents(draw) -> GateDocument:
    checks = draw(
        st.lists(
            st.builds(
                CheckPart,
                rule=texts,
                status=st.sampled_from(["holds", "broken", "cannot tell"]),
                message=texts,
                file=st.text(min_size=1, max_size=20).map(lambda t: t.replace("\0", "")),
                line=st.none() | st.integers(1, 999),
                kernel=texts,
                title=texts,
                gpu=texts,
                model_label=texts,
                found=st.just([]),
                causes=st.lists(texts, max_size=2),
            ),
            max_size=4,
        )
    )
    count = [sum(c.status == s for c in checks) for s in ("holds", "broken", "cannot tell")]
    return GateDocument(
        "kernelcast/gate/1", "0", None, None, None, "holds", count[0], count[1], count[2], checks
    )
