"""Every op of the library once more in torch: whole-array expressions in float64, gradients by autograd.

Each file here with a function checks(device) has the checks of a family.
"""

import importlib
import pkgutil

FILES = [importlib.import_module("." + name, __name__) for _, name, _ in pkgutil.iter_modules(__path__)]


def all_checks(device):
    for file in FILES:
        if hasattr(file, "checks"):
            yield from file.checks(device)
