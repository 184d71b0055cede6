from expected_results import Expected, Given, exact


def transpose_naive(g: Given) -> Expected:
    return exact(b=g.a.T)


transpose_tiled = transpose_padded = transpose_shuffle = transpose_naive
