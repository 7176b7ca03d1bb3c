"""Matrix products in numpy, where it has a tuned BLAS."""

import numpy as np

from blas import tuned
from numpy_forms import build, set_threads, to_numpy  # noqa: F401 (serve.py takes them from here)

BLAS = tuned()


def version():
    return "numpy %s, %s" % (np.__version__, BLAS)


def linear(arrays, numbers):
    """The logits alone; nothing is made of them."""
    hidden, weight = arrays["hidden"].reshape(-1, numbers["dim"]), arrays["weight"].reshape(-1, numbers["dim"])

    def run():
        return {"logits": hidden @ weight.T}

    return run


def linear_gradient(arrays, numbers):
    """The products of a forward and a backward pass that keeps no logits: those of the logits thrice, and two of gradients."""
    hidden, weight = arrays["hidden"].reshape(-1, numbers["dim"]), arrays["weight"].reshape(-1, numbers["dim"])

    def run():
        for product in range(3):
            logits = hidden @ weight.T
        return {"logits": logits, "of_hidden": logits @ weight, "of_weight": logits.T @ hidden}

    return run


FORMS = {
    "linear": {"hidden @ weight.T, %s" % BLAS: linear},
    "linearGradient": {"five products, %s" % BLAS: linear_gradient},
}
