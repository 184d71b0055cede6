"""Messages of compilers and assemblers in plain words."""

from __future__ import annotations

from kernelcast.toolchain.diagnostics import in_plain_words


def test_what_an_assembler_says_names_kernels_as_their_source_does():
    message = (
        "Entry function '_Z5tiledILi16EEviPKfS1_Pf' uses too much shared data "
        "(0x13880 bytes, 0xc000 max)"
    )
    assert in_plain_words(message) == (
        "Entry function 'tiled<16>' uses too much shared data (80000 bytes, 49152 max)"
    )
    assert in_plain_words("identifier '_Zebra' at 0x10") == "identifier '_Zebra' at 0x10"
