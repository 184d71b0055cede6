from rich.text import Text

from kernelcast.reporting.console import plain_text, render_for_output


def test_text_for_a_pipe_has_no_escape_sequences(monkeypatch):
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    assert render_for_output(Text("bold", style="bold red")) == "bold"


def test_text_for_a_terminal_is_coloured_unless_told_otherwise(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[" in render_for_output(Text("bold", style="red"))
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[3" not in render_for_output(Text("bold", style="red"))


def test_lines_have_no_trailing_spaces():
    assert plain_text(Text("a   \nb")) == "a\nb"
