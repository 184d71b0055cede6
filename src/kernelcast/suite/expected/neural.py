"""Results of the layers of neural networks."""

# ruff: noqa: D103 (a function is named for the kernel whose results it gives)

import numpy as np

from kernelcast.suite.expected import ExpectedResult, Given, near


def neural_softmax(g: Given) -> ExpectedResult:
    powers = np.exp(g.x.astype(float))
    return near(1e-5, y=powers / powers.sum(1, keepdims=True))


neural_softmax_online = neural_softmax


def neural_layer_norm(g: Given) -> ExpectedResult:
    x = g.x.astype(float)
    centred = x - x.mean(1, keepdims=True)
    scaled = centred / np.sqrt((centred**2).mean(1, keepdims=True) + g.epsilon)
    return near(1e-5, 1e-5, y=scaled * g.gain + g.bias)


def neural_gelu(g: Given) -> ExpectedResult:
    z = 4.0 * g.x.astype(float) - 2 + np.resize(g.bias, g.n)
    tangent = np.tanh(np.sqrt(2 / np.pi) * (z + 0.044715 * z**3))
    return near(1e-5, 1e-6, y=0.5 * z * (1 + tangent))


def neural_embedding_bag(g: Given) -> ExpectedResult:
    return near(1e-6, y=g.table.astype(float)[g.token].sum(1))
