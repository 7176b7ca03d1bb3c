"""Times numpy, numpy's BLAS or torch on the bytes that the bench hands over: one JSON object a line in, one a line out.

    {"do": "load", "work": ..., "threads": n, "arrays": {name: {"file", "type", "count"}}, "numbers": {...}}
        -> {"forms": [name, ...]}
    {"do": "run", "form": name}     -> {"seconds": s}
    {"do": "peak", "form": name}    -> {"megabytes": growth of resident memory at its peak, or null}
    {"do": "outputs", "form": name, "folder": path} -> {"outputs": {name: {"file", "type", "count"}}} of the last run

What a request cannot do is answered with {"error": text}.
"""

import json
import os
import sys
import time

import numpy as np


def kilobytes(field):
    with open("/proc/self/status", encoding="ascii") as status:
        for line in status:
            if line.startswith(field + ":"):
                return int(line.split()[1])
    return None


def peak_growth(run):
    if "MALLOC_TRIM_THRESHOLD_" in os.environ:
        return None  # memory of earlier calls is still here: a call seems to need none
    try:
        with open("/proc/self/clear_refs", "w", encoding="ascii") as refs:
            refs.write("5")  # sets the peak back to what is resident now
    except OSError:
        run()
        return None
    before = kilobytes("VmRSS")
    run()
    return max(0, kilobytes("VmHWM") - before) / 1024


class Peer:
    def __init__(self, forms):
        self.forms = forms
        self.runs = {}
        self.last = {}

    def load(self, request):
        arrays = {}
        for name, array in request["arrays"].items():
            # Copied into memory of this process: pages of a file are not what a program computes on.
            arrays[name] = np.array(np.fromfile(array["file"], dtype=array["type"], count=array["count"]))
        builders = self.forms.FORMS.get(request["work"], {})
        self.forms.set_threads(request["threads"])
        kinds = {name: array["kind"] for name, array in request["arrays"].items()}
        self.runs = self.forms.build(builders, arrays, kinds, request["numbers"])
        return {"forms": list(self.runs)}

    def run(self, form):
        began = time.perf_counter()
        outputs = self.runs[form]()
        seconds = time.perf_counter() - began
        self.last = {form: outputs}
        return {"seconds": seconds}

    def outputs(self, form, folder):
        described = {}
        for name, values in self.last[form].items():
            array = self.forms.to_numpy(values)
            file = os.path.join(folder, name)
            array.tofile(file)
            described[name] = {"file": file, "type": str(array.dtype), "count": int(array.size)}
        return {"outputs": described}

    def answer(self, request):
        todo = request["do"]
        if todo == "load":
            return self.load(request)
        if todo == "run":
            return self.run(request["form"])
        if todo == "peak":
            return {"megabytes": peak_growth(self.runs[request["form"]])}
        if todo == "outputs":
            return self.outputs(request["form"], request["folder"])
        raise ValueError("no request " + todo)


def main():
    if sys.argv[1] == "torch":
        import torch_forms as forms
    elif sys.argv[1] == "numba":
        import numba_forms as forms
    elif sys.argv[1] == "blas":
        import blas_forms as forms
    else:
        import numpy_forms as forms
    peer = Peer(forms)
    print(json.dumps({"version": forms.version()}), flush=True)
    for line in sys.stdin:
        try:
            print(json.dumps(peer.answer(json.loads(line))), flush=True)
        except Exception as error:  # told to the bench, which says it and leaves the form out
            print(json.dumps({"error": "%s: %s" % (type(error).__name__, error)}), flush=True)


main()
