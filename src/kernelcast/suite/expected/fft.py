"""Results of the Fourier transforms."""

# ruff: noqa: D103 (a function is named for the kernel whose results it gives)

import numpy as np

from kernelcast.suite.expected import ExpectedResult, ExpectedValues, Given, near


def complex_of(pairs: ExpectedValues) -> ExpectedValues:
    return np.asarray(pairs.astype(float) @ np.array([1, 1j]))


def pairs_of(z: ExpectedValues) -> ExpectedValues:
    return np.stack([z.real, z.imag], -1)


def fft_radix2_step(g: Given) -> ExpectedResult:
    x = complex_of(g.x)
    k = np.arange(g.n // 2) % g.p
    a, b = x[: g.n // 2], x[g.n // 2 :] * np.exp(-1j * np.pi * k / g.p)
    place = 2 * np.arange(g.n // 2) - k
    y = np.empty_like(x)
    y[place], y[place + g.p] = a + b, a - b
    return near(0, 1e-5, y=pairs_of(y))


def fft_shared(g: Given) -> ExpectedResult:
    """Sines by the chip's own instruction are off by up to 2^-21."""
    return near(0, 2e-6 * g.x.shape[1], y=pairs_of(np.fft.fft(complex_of(g.x))))


def fft_direct(g: Given) -> ExpectedResult:
    return near(0, 2e-6 * g.n, y=pairs_of(np.fft.fft(complex_of(g.x))))
