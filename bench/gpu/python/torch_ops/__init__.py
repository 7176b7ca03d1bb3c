"""Every op of the library once more in torch: whole-array expressions in float64, gradients by autograd."""

from . import correction, delim, divergence, group, linear, logprob, loss, modulate, ratio, reduce, scan, select

FAMILIES = (logprob, linear, divergence, delim, group, scan, ratio, reduce, select, modulate, loss, correction)


def all_checks(device):
    for family in FAMILIES:
        yield from family.checks(device)
