import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest

from kernelcast.cli import groups

PROGRAM = Path(sys.executable).parent / "kernelcast"
ROOT = Path(__file__).parents[2]

HEAVY = {"numpy", "llvmlite", "numba", "rich", "msgspec"}


def imported_by(*arguments):
    """Top-level modules that a command line imports."""
    code = (
        "import sys; from kernelcast.cli.main import main; status = main(sys.argv[1:]);"
        "sys.stderr.write(' '.join({name.partition('.')[0] for name in sys.modules}));"
        "sys.exit(status)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True
    )
    return set(done.stderr.split())


@pytest.mark.parametrize("arguments", [["--help"], [], ["--version"], ["predict", "--help"]])
def test_help_imports_nothing_heavy(arguments):
    assert not imported_by(*arguments) & HEAVY


def test_help_lists_every_command_with_a_line(run):
    out = run("--help").out
    for file in sorted((ROOT / "src/kernelcast/cli").glob("*.py")):
        if "def command(" in file.read_text():
            name = file.stem.replace("_", "-")
            line = next((row for row in out.splitlines() if row.split()[:1] == [name]), None)
            assert line is not None, name
            assert len(line.split()) > 2, name


def test_without_arguments_help_is_shown(run):
    outcome = run()
    assert outcome.status == 0
    assert outcome.out.startswith("Usage: kernelcast")


def test_every_command_answers_help_and_takes_the_common_options(run):
    commands: list[tuple[str, ...]] = [
        (name,) for name in groups.command_summaries("kernelcast.cli")
    ]
    commands.remove(("validate",))
    commands += [("validate", name) for name in groups.command_summaries("kernelcast.cli.validate")]
    assert len(commands) > len(groups.command_summaries("kernelcast.cli"))
    for command in commands:
        outcome = run(*command, "--help")
        assert outcome.status == 0, command
        for option in ("--json", "--quiet", "--debug"):
            assert option in outcome.out, (command, option)


def test_version(run):
    outcome = run("--version")
    assert outcome.status == 0
    assert outcome.out.split()[0] == "kernelcast"
    assert outcome.out.split()[1][0].isdigit()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["predct", "x.cu"], "did you mean predict"),
        (["predict", "x.cu", "--modle", "all"], "--model"),
        (["predict"], "FILE"),
        (["frobnicate"], "unknown command 'frobnicate'"),
    ],
)
def test_typos_are_answered_in_one_line(run, arguments, expected):
    outcome = run(*arguments)
    assert outcome.status == 2
    assert outcome.out == ""
    assert len(outcome.err.splitlines()) == 1
    assert outcome.err.startswith("error: ")
    assert expected in outcome.err


def failing(error):
    @click.command("fail")
    @click.option("--debug", is_flag=True)
    def command(debug):
        raise error

    return command


@pytest.fixture
def fail_with(monkeypatch):
    def install(error):
        monkeypatch.setattr(groups, "command_summaries", lambda _: {"fail": "fails"})
        monkeypatch.setattr(groups.CommandsByFile, "get_command", lambda *_: failing(error))

    return install


def test_an_unexpected_error_is_one_line_that_says_so(run, fail_with):
    fail_with(ZeroDivisionError("division\nby zero"))
    outcome = run("fail")
    assert outcome.status == 2
    assert outcome.err.splitlines() == [
        "internal error: ZeroDivisionError: division by zero; run again with --debug and report it"
    ]


def test_debug_shows_the_traceback(run, fail_with):
    fail_with(ZeroDivisionError("division by zero"))
    outcome = run("fail", "--debug")
    assert outcome.status == 2
    assert "Traceback" in outcome.err
    assert outcome.err.splitlines()[-1].startswith("internal error: ZeroDivisionError")


def test_control_characters_of_a_message_do_not_reach_the_terminal(run, fail_with):
    fail_with(ValueError("a\x1b[31mb"))
    assert "\x1b" not in run("fail").err


def test_an_interrupt_ends_with_130(run, fail_with):
    fail_with(KeyboardInterrupt())
    outcome = run("fail")
    assert (outcome.status, outcome.err) == (130, "interrupted\n")


def test_ctrl_c_stops_an_endless_kernel(tmp_path):
    file = tmp_path / "endless.cu"
    file.write_text(
        'extern "C" __global__ void spin(volatile int* x) { while (x[0] == 0) x[1] += 1; }'
    )
    arguments = ["predict", file, "--grid", "1", "--block", "32", "--arg", "x=s32[2]"]
    process = subprocess.Popen(
        [PROGRAM, *map(str, arguments), "--budget", "1000000000000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "KERNELCAST_CACHE": str(tmp_path / "cache")},
    )
    try:
        time.sleep(2.5)
        assert process.poll() is None, process.communicate()[1]
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert err.splitlines()[-1] == "interrupted"
    assert "Traceback" not in err


def test_a_reader_that_has_seen_enough_is_no_error():
    command = f"'{PROGRAM}' schema | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["{", "0"]
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("kernelcast pred", "plain,predict"),
        ("kernelcast predict x.cu --gpu h100-s", "plain,h100-sxm"),
        ("kernelcast predict x.cu --gpu l4,h100-s", "plain,l4,h100-sxm"),
        ("kernelcast predict x.cu --model roof", "plain,roofline"),
        ("kernelcast models roof", "plain,roofline"),
        (f"kernelcast predict {ROOT}/examples/saxpy.cu --kernel s", "plain,saxpy"),
    ],
)
def test_shell_completion(run, monkeypatch, words, expected):
    monkeypatch.setenv("_KERNELCAST_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
    assert expected in run().out.splitlines()


def test_a_hint_names_the_command_that_was_typed(run):
    done = run("compare", "examples/saxpy.cu", "--model", "volkov", "--sample", "0")
    assert done.status == 2
    assert "COMMAND" not in done.err


def test_a_gpu_like_no_other_is_answered_with_where_they_are_listed(run):
    assert "kernelcast gpus lists them" in run("predict", "x.cu", "--gpu", "zzzzzzz").err
