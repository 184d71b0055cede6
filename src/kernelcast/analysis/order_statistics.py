"""What the largest of several random numbers is on average.

H. A. David and H. N. Nagaraja: Order Statistics. Wiley, 3rd edition, 2003, section 2.5: of k
independent numbers that are exponentially distributed with the mean 1, the largest is what it takes
the first of all to end, then the first of the k - 1 that are left, and so on; on average

    H(k) = 1/k + 1/(k - 1) + ... + 1/2 + 1

Between whole numbers, H(k) = H(k + 1) - 1/(k + 1) and H(k) = ln k + 0.5772 + 1/2k - 1/12k^2 + ...
"""

from __future__ import annotations

import math

_EULER = 0.5772156649015329
_FURTHER = 6
"""Steps up to where the first terms of the series are exact to six digits."""


def largest_beyond_mean(count: float) -> float:
    """H(k) - 1: by how many means the largest of `count` exponential numbers exceeds their mean.

    0 up to one of them.
    """
    if count <= 1:
        return 0.0
    k = count + _FURTHER
    above = math.log(k) + _EULER + 1 / (2 * k) - 1 / (12 * k * k)
    return above - sum(1 / (count + i) for i in range(1, _FURTHER + 1)) - 1
