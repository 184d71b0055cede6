"""Launches of a source as texts to complete: a workload file, or one command."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence

from kernelcast.frontends.expressions import BLANK
from kernelcast.frontends.source.source_launches import SourceLaunch

_COMMENT_COLUMN = 40


def workload_text(source: str, launches: Sequence[SourceLaunch]) -> str:
    """A workload file of launches; one that cannot be made, or that the program does not come to
    though it does to others, is a comment that says why."""
    reached = [launch for launch in launches if launch.is_reached] or launches
    lines = [
        f"# The launches of {source}. {BLANK!r} stands for a number that the source leaves open.",
        f"source = {_quoted(source)}",
        *_open_names(reached),
    ]
    for launch in launches:
        passed_by = (
            f"# line {launch.line} launches {launch.kernel} under a condition that does not hold"
        )
        lines += ["", *(_launch(launch) if launch in reached else [passed_by])]
    return "\n".join(lines) + "\n"


def launch_tables(launches: Sequence[SourceLaunch]) -> str:
    """Launches as the comment block of a source has them."""
    lines = [*_open_names(launches), *(line for each in launches for line in _launch(each))]
    return "\n".join(lines)


def ready_command(source: str, launch: SourceLaunch) -> str:
    """The command that forecasts one launch; what is open stands as `<name>`."""
    parts = ["kernelcast", "predict", source, "--kernel", launch.kernel]
    for option, texts in (("--grid", launch.grid), ("--block", launch.block)):
        parts += [option, _with_blanks(",".join(texts), launch.opened)]
    if launch.smem != "0":
        parts += ["--smem", _with_blanks(launch.smem, launch.opened)]
    for name, value in launch.arguments.items():
        parts += ["--arg", f"{name}={_with_blanks(value, launch.opened)}"]
    return shlex.join(parts)


def _with_blanks(text: str, opened: Mapping[str, str]) -> str:
    return "".join(f"<{word}>" if word in opened else word for word in _words(text))


def _words(text: str) -> Iterator[str]:
    """Names and what stands between them."""
    word = ""
    for character in text:
        if word and (character.isalnum() or character == "_") != (
            word[-1].isalnum() or word[-1] == "_"
        ):
            yield word
            word = ""
        word += character
    yield word


def _open_names(launches: Sequence[SourceLaunch]) -> Iterator[str]:
    opened: dict[str, str] = {}
    for launch in launches:
        if launch.is_known:
            opened |= {
                name: why for name, why in launch.opened.items() if why or name not in opened
            }
    for name, why in opened.items():
        yield _commented(f'{name} = "{BLANK}"', why)


def _launch(launch: SourceLaunch) -> Iterator[str]:
    place = f"line {launch.line}"
    if not launch.is_known:
        yield f"# {place} launches {launch.kernel}, whose template arguments or code are elsewhere"
        return
    yield _commented("[[launch]]", place)
    yield f"kernel = {_quoted(launch.kernel)}"
    yield f"grid = {_extent(launch.grid)}"
    yield f"block = {_extent(launch.block)}"
    if launch.smem != "0":
        yield f"smem = {_value(launch.smem)}"
    arguments = ", ".join(f"{name} = {_value(text)}" for name, text in launch.arguments.items())
    yield f"args = {{ {arguments} }}" if arguments else "args = {}"


def _extent(sizes: Sequence[str]) -> str:
    values = [_value(size) for size in sizes]
    return values[0] if len(values) == 1 else f"[{', '.join(values)}]"


def _value(text: str) -> str:
    """A number as it is, anything else in quotes."""
    return text if text.isascii() and text.isdigit() else _quoted(text)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _commented(text: str, comment: str) -> str:
    plain = " ".join(comment.split())
    if not plain:
        return text
    shown = plain if len(plain) <= 60 else f"{plain[:57]}..."
    return f"{text:<{_COMMENT_COLUMN}} # {shown}"
