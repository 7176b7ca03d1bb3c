"""Which library multiplies matrices here."""

MARKS = {"openblas": "OpenBLAS", "libmkl": "MKL", "libblis": "BLIS", "libarmpl": "Arm PL"}


def tuned():
    """Name of the tuned BLAS that this process has in memory; None where that is the reference one, or cannot be seen."""
    try:
        with open("/proc/self/maps", encoding="ascii", errors="replace") as maps:
            files = maps.read()
    except OSError:
        return None
    return next((name for mark, name in MARKS.items() if mark in files), None)
