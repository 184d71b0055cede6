"""Messages of compilers and assemblers in plain words."""

from __future__ import annotations

from kernelcast.toolchain.diagnostics import in_plain_words, program_hint


def test_what_an_assembler_says_names_kernels_as_their_source_does():
    message = (
        "Entry function '_Z5tiledILi16EEviPKfS1_Pf' uses too much shared data "
        "(0x13880 bytes, 0xc000 max)"
    )
    assert in_plain_words(message) == (
        "Entry function 'tiled<16>' uses too much shared data (80000 bytes, 49152 max)"
    )
    assert in_plain_words("identifier '_Zebra' at 0x10") == "identifier '_Zebra' at 0x10"


def test_a_header_that_a_compiler_of_programs_lacks_is_asked_for():
    gcc, clang = (
        "a.cu:3:10: fatal error: {}: No such file",
        "a.cu:3:10: fatal error: '{}' file not found",
    )
    for log in (gcc, clang):
        assert program_hint(log.format("own.h")) == "give the directory of own.h with -I"
        assert "has no such library" in program_hint(log.format("cublas_v2.h"))
    assert program_hint("a.cu:3:10: error: expected ;") == ""


def test_a_program_is_told_what_to_link():
    log = "app.cu:(.text+0x34d): undefined reference to `{}'"
    assert "--nvcc -Xcompiler=-fopenmp" in program_hint(log.format("omp_get_num_procs"))
    assert "--nvcc -lcurand" in program_hint(log.format("curandCreateGenerator"))
    assert program_hint(log.format("own_function")) == ""
