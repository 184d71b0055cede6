"""Results of the kernels on whole numbers."""

# ruff: noqa: D103 (a function is named for the kernel whose results it gives)

import zlib

import numpy as np

from kernelcast.suite.expected import ExpectedResult, ExpectedValues, Given, exact

U32 = np.uint32


def integer_sieve(g: Given) -> ExpectedResult:
    prime = np.ones(g.prime.size, bool)
    prime[:2] = False
    for d in range(2, int(prime.size**0.5) + 1):
        prime[d * d :: d] = False
    return exact(prime=prime)


def integer_trial_division(g: Given) -> ExpectedResult:
    number = g.first + 2 * np.arange(g.n)
    divisor = number.copy()
    for d in range(int(number[-1] ** 0.5) + 1, 2, -1):
        divisor[(number % d == 0) & (d * d <= number)] = d
    return exact(divisor=divisor)


def integer_gcd(g: Given) -> ExpectedResult:
    return exact(divisor=np.gcd(g.a, g.b))


def integer_collatz(g: Given) -> ExpectedResult:
    number = g.first + np.arange(g.n)
    steps = np.zeros(g.n, int)
    while (going := number > 1).any():
        steps += going
        number = np.where(number % 2 == 0, number // 2, np.where(going, 3 * number + 1, 1))
    return exact(steps=steps)


def integer_power(g: Given) -> ExpectedResult:
    powers = [pow(int(b), g.exponent, g.modulus) for b in g.base]
    return exact(power=np.array(powers, np.uint64))


def integer_montgomery(g: Given) -> ExpectedResult:
    """A product by Montgomery is the product divided by 2^64."""
    factor = pow(1 << 64, -1, g.modulus)
    found = [
        int(a) * pow(int(b) * factor, g.times, g.modulus) % g.modulus
        for a, b in zip(g.a, g.b, strict=True)
    ]
    return exact(product=np.array(found, np.uint64))


def integer_crc32(g: Given) -> ExpectedResult:
    return exact(crc=np.array([zlib.crc32(row.tobytes()) for row in g.message]))


def integer_hamming(g: Given) -> ExpectedResult:
    bits = np.bitwise_count(g.query[:, None] ^ g.code)
    return exact(least=bits.min(1), place=bits.argmin(1))


def reversed_bits(word: ExpectedValues) -> ExpectedValues:
    bits = np.unpackbits(word.astype(">u4").view(np.uint8).reshape(-1, 4), axis=1)
    return np.packbits(bits[:, ::-1], axis=1).view(">u4")[:, 0].astype(U32)


def integer_bits(g: Given) -> ExpectedResult:
    word, low = g.x.copy(), g.x & U32(0xFF)
    second = g.x >> 8 & U32(0xFF)
    for _ in range(g.rounds):
        leading = np.array([32 - int(w).bit_length() for w in word], U32)
        word = reversed_bits(word) + leading * U32(0x01010101)
        permuted = word & U32(0xFF) | low << 8 | (word >> 8 & U32(0xFF)) << 16 | second << 24
        first_set = np.array([(int(w) & -int(w)).bit_length() for w in word], U32)
        word = word ^ (permuted << (first_set & U32(7)))
        word = word + (np.bitwise_count(word).astype(U32) << 20)
    return exact(y=word)
