"""Results of the option prices."""

# ruff: noqa: D103 (a function is named for the kernel whose results it gives)

import math

import numpy as np

from kernelcast.suite.expected import ExpectedResult, ExpectedValues, Given, near

normal_cdf = np.vectorize(lambda x: 0.5 * math.erfc(-x / math.sqrt(2)))


def prices(g: Given) -> dict[str, ExpectedValues]:
    """Black and Scholes's call and put."""
    s, k, t = 5 + 25.0 * g.spot, 1 + 99.0 * g.strike, 0.25 + 9.75 * g.years
    spread = g.volatility * np.sqrt(t)
    d1 = (np.log(s / k) + (g.rate + g.volatility**2 / 2) * t) / spread
    discounted = k * np.exp(-g.rate * t)
    call = s * normal_cdf(d1) - discounted * normal_cdf(d1 - spread)
    return {"call": call, "put": call - s + discounted}


def finance_black_scholes(g: Given) -> ExpectedResult:
    """The approximation of the normal distribution is off by up to 7.5e-8, times the strike."""
    return near(1e-5, 1e-4, **prices(g))


def finance_black_scholes_double(g: Given) -> ExpectedResult:
    return near(1e-12, 1e-12, **prices(g))


def finance_binomial_put(g: Given) -> ExpectedResult:
    s = 0.5 + g.spot.astype(float)

    def exercised(step: int) -> ExpectedValues:
        leaves = s[:, None] * g.up ** (2 * np.arange(step + 1) - step)
        return np.asarray(np.maximum(1 - leaves, 0))

    value = exercised(g.steps)
    for step in range(g.steps, 0, -1):
        held = g.probability * value[:, 1:] + (1 - g.probability) * value[:, :-1]
        value = np.maximum(g.discount * held, exercised(step - 1))
    return near(1e-4, 1e-5, price=value[:, 0])
