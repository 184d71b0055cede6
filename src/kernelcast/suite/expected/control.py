"""Results of the kernels with much control flow."""

# ruff: noqa: D103 (a function is named for the kernel whose results it gives)

import numpy as np

from kernelcast.suite.expected import ExpectedResult, Given, exact, near

U32 = np.uint32


def control_mandelbrot(g: Given) -> ExpectedResult:
    x, y = np.arange(g.nx), np.arange(g.ny)[:, None]
    c = -2 + 3 * x / g.nx + 1j * (-1.5 + 3 * y / g.ny)
    z, steps = np.zeros_like(c), np.zeros(c.shape, int)
    for _ in range(g.most):
        inside = z.real**2 + z.imag**2 <= 4
        steps += inside
        z = np.where(inside, z * z + c, z)
    return exact(steps=steps)


def control_switch(g: Given) -> ExpectedResult:
    a, b = np.arange(g.n, dtype=U32), np.ones(g.n, U32)
    program = g.program[:, np.arange(g.n) // g.spread]
    for pc in range(g.length):
        cases = [program[pc] == case for case in range(7)]
        next_a = [a + b, a - b * U32(3), a * (b | U32(1)), a, a, a // (b | U32(1)) + U32(pc), a]
        turned = b << U32(5) | b >> U32(27)
        next_b = [b, b, b, b ^ a >> U32(7), turned, b, b + np.bitwise_count(a)]
        a, b = (
            np.select(cases, next_a, a ^ U32(0x9E3779B9)),
            np.select(cases, next_b, b + U32(1)),
        )
    return exact(result=a ^ b)


def control_calls(g: Given) -> ExpectedResult:
    steps, digits = [], []
    for number in range(g.n):
        step = 0
        while step < g.most and str(number) != str(number)[::-1] and number < 100_000_000:
            number += int(str(number)[::-1])
            step += 1
        steps.append(step)
        digits.append(sum(map(int, str(number))))
    return exact(steps=np.array(steps), digits=np.array(digits))


def control_votes(g: Given) -> ExpectedResult:
    rounds, busy = np.zeros(g.launch.threads, int), np.zeros(g.launch.threads, int)
    work = np.pad(g.work, (0, g.launch.threads - g.n))
    for first in range(0, work.size, 32):
        left, warp = work[first : first + 32].copy(), slice(first, first + 32)
        done = 0
        while (active := left > 0).any():
            busy[warp] += active.sum()
            if active.sum() <= 4:
                donor = active.argmax()
                busy[warp] += left[donor]
                left[donor] = 0
                left = np.maximum(left - 1, 0)
            else:
                left = np.where(active, left - 1 - done % 2, left)
            done += 1
        rounds[warp] = done
    return exact(rounds=rounds[: g.n], busy=busy[: g.n])


def control_local_sort(g: Given) -> ExpectedResult:
    return exact(y=np.sort(g.x, axis=0))


def control_tree(g: Given) -> ExpectedResult:
    value, node = g.x.copy(), np.zeros(g.n, int)
    while (going := (2 * node + 2 < g.nodes) & (g.threshold[node] >= np.float32(0.1))).any():
        limit = g.threshold[node]
        less = value < limit
        below = np.divide(value, limit, out=value.copy(), where=going)
        following = 2 * node + np.where(less, 1, 2)
        value = np.where(going, np.where(less, below, value - limit), value)
        node = np.where(going, following, node)
    return exact(leaf=node)


def control_rays(g: Given) -> ExpectedResult:
    centre, radius = g.sphere[:, :3].astype(float), 0.1 * g.sphere[:, 3].astype(float)
    y, x = np.mgrid[: g.ny, : g.nx]
    place = np.stack([x / g.nx, y / g.ny, np.full(x.shape, -1.0)], -1)
    steps = np.zeros(x.shape, int)
    for _ in range(g.most):
        apart = np.sqrt(((place[..., None, :] - centre) ** 2).sum(-1)) - radius
        nearest = np.minimum(apart.min(-1), 1)
        going = (place[..., 2] < 2) & (nearest >= 0.01)
        place[..., 2] += np.where(going, nearest, 0)
        steps += going
    return near(1e-5, 1e-5, depth=place[..., 2], steps=steps)
