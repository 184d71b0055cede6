"""A pytest plugin: of tests that are repeated for many architectures, three repetitions run.

`--all` runs all of them. A test keeps the repetitions for the oldest architecture, for Hopper and
for the newest one; where it has none of these, the newest that it has. Tests whose subject is the
difference between architectures say so by the mark `every_architecture`, and are left alone.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import pytest

CHOSEN = ("sm_75", "sm_90", "sm_120")
_ARCHITECTURE = re.compile(r"(?:\w+ of )?(sm_(\d+)[af]?)")
_LEFT_OUT = pytest.StashKey[int]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--all",
        action="store_true",
        help=f"repeat tests for all architectures, not only for {', '.join(CHOSEN)}",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "every_architecture: the test's subject is what differs between architectures"
    )
    config.addinivalue_line(
        "markers", "only_with_all: it takes long, and other tests hold most of what it does"
    )
    config.stash[_LEFT_OUT] = 0


def pytest_report_header(config: pytest.Config) -> str:
    if config.getoption("--all"):
        return "architectures: all"
    return f"architectures: {', '.join(CHOSEN)} (all of them with --all)"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--all") or config.getoption("--update-golden", False):
        return
    left_out = _repetitions(items)
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=list(left_out))
    config.stash[_LEFT_OUT] = len(left_out)


def _repetitions(items: Iterable[pytest.Item]) -> set[pytest.Item]:
    """Tests that run for another architecture as well, or only with `--all`."""
    groups: dict[str, dict[str, list[pytest.Item]]] = defaultdict(lambda: defaultdict(list))
    found = {item for item in items if item.get_closest_marker("only_with_all")}
    for item in items:
        name = architecture_of(item)
        if name and item.get_closest_marker("every_architecture") is None:
            groups[item.nodeid.replace(name, "*")][name].append(item)
    return found | {
        item
        for group in groups.values()
        for name, repeated in group.items()
        if name not in _kept(group)
        for item in repeated
    }


def _kept(names: Iterable[str]) -> set[str]:
    names = set(names)
    return names & set(CHOSEN) or {max(names, key=_number)}


def architecture_of(item: pytest.Item) -> str:
    """The architecture that a test is repeated for, as `sm_90` or `sass of sm_90`; nothing where it
    is not."""
    if not isinstance(item, pytest.Function) or not hasattr(item, "callspec"):
        return ""
    values = item.callspec.params.values()
    found = (_ARCHITECTURE.fullmatch(v) for v in values if isinstance(v, str))
    return next((match[1] for match in found if match), "")


def _number(name: str) -> int:
    found = _ARCHITECTURE.fullmatch(name)
    assert found
    return int(found[2])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """A process of pytest-xdist has ended: all of them collect the same tests."""
    counted = getattr(node, "workeroutput", {}).get("left_out", 0)
    node.config.stash[_LEFT_OUT] = counted


def pytest_sessionfinish(session: pytest.Session) -> None:
    if (output := getattr(session.config, "workeroutput", None)) is not None:
        output["left_out"] = session.config.stash[_LEFT_OUT]


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if count := config.stash[_LEFT_OUT]:
        terminalreporter.write_line(f"{count} tests left out, most of other architectures (--all)")
