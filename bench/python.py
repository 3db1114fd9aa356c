# SPDX-License-Identifier: BSD-3-Clause
"""The section on the Python package: its estimators against scikit-learn's on the same arrays, and fit against the
program on the file of that array."""
import json
import os
import resource
import subprocess
import sys

import python_report as report
from measure import HERE, SEED, ask, make_data, measure

PAGE = "bench-python.md"
SHAPES = {"full": ((5011, 1024, 20), (8192, 512, 1000)), "quick": ((1500, 256, 20), (2048, 128, 200)),
          "tiny": ((60, 8, 3), (60, 8, 3))}
PAIRS = [("tenon-evidence", "ridge-cv", 10.0), ("tenon-svm", "linear-svc", 5.0), ("tenon-logistic-1", "lbfgs-1", 5.0),
         ("tenon-logistic-100", "lbfgs-100", 5.0)]
ONLINE = [("tenon-online", "passive-aggressive", 50.0), ("tenon-online", "sgd", 50.0)]
LIMIT, RUNS, PREDICTIONS = 300, 5, 2000
PEER_RUNS = 3  # as many as python_peers.py takes the best of

# One row at a time, as a service sees them; and the import. Seconds of one, of many.
SMALL = """
import time, json, sys
start = time.perf_counter()
import numpy as np, tenon
imported = time.perf_counter() - start
x, y = np.load(sys.argv[1]), np.load(sys.argv[2])
head = tenon.EvidenceClassifier(loo=0).fit(x[:200], y[:200]).head_
head.predict(x[:1])
start = time.perf_counter()
for i in range(int(sys.argv[3])):
    head.predict(x[:1])
print(json.dumps({"predict": (time.perf_counter() - start) / int(sys.argv[3]), "import": imported}))
"""


def package(program, environment):
    """Makes the package's library and says where it is."""
    build = program.parent
    subprocess.run(["cmake", "--build", build, "--target", "tenon_python"], check=True, stdout=subprocess.DEVNULL)
    return environment | {"PYTHONPATH": str(HERE.parent / "python"), "PYTHONDONTWRITEBYTECODE": "1",
                          "TENON_LIBRARY": str(build / "python" / "libtenon.so")}


def contest(names, paths, environment, directory):
    entries = {}
    for name in dict.fromkeys(names):
        seconds, _, found = measure([sys.executable, HERE / "python_peers.py", name, *paths], environment, directory,
                                    LIMIT, False)
        entries[name] = {"contestant": name} | (found or {"seconds": seconds, "rows": 1, "runs": 0, "anon_mb": 0})
        report.print_entry(entries[name])
    return entries


def used_by(work):
    """(what it returns, processor seconds of the children that it waits for)"""
    def used():
        told = resource.getrusage(resource.RUSAGE_CHILDREN)
        return told.ru_utime + told.ru_stime

    before = used()
    found = work()
    return found, used() - before


def against_program(program, paths, environment, directory, runs):
    """Whole process of the program on the file of the same array, in turn with fit on the array, one thread each: the
    least processor time of either. What else runs on the machine disturbs it less than time by the clock."""
    command = [program, "fit", f"X={paths[0]}", "--labels", paths[1], "--method", "evidence", "-o",
               directory / "head.safetensors", "--json", "--quiet"]
    alone = environment | {"OMP_NUM_THREADS": "1"}
    ours, theirs = [], []
    for _ in range(runs):
        fitted = ask([sys.executable, HERE / "python_peers.py", "tenon-evidence", *paths], alone)
        ours.append(json.loads(fitted)["used"])
        theirs += [used_by(lambda: ask([*command, "--threads", "1"]))[1] for _ in range(PEER_RUNS)]
    seconds = min(measure(command, None, directory, LIMIT, False)[0] for _ in range(runs))
    inside = json.loads(ask(command))["seconds"]
    return {"seconds": seconds, "inside": inside, "used": min(theirs), "used_in_python": min(ours),
            "anon_mb": measure(command, None, directory, LIMIT)[1]}


def run(program, environment, directory, size):
    """Everything the report of this section needs."""
    environment = package(program, environment)
    linear, online = SHAPES[size]
    paths = make_data(directory, linear, environment)
    report.print_shape(linear)
    entries = contest([n for a, b, _ in PAIRS for n in (a, b)], paths, environment, directory)
    beside = against_program(program, paths, environment, directory, 1 if size == "tiny" else RUNS)
    small = json.loads(ask([sys.executable, "-c", SMALL, *paths, str(PREDICTIONS)], environment))
    paths = make_data(directory, online, environment)
    report.print_shape(online)
    streamed = contest([n for a, b, _ in ONLINE for n in (a, b)], paths, environment, directory)
    found = {"shapes": (linear, online), "entries": entries, "streamed": streamed, "program": beside, "small": small,
             "pairs": PAIRS, "online": ONLINE, "seed": SEED, "threads": os.cpu_count(),
             "versions": json.loads(ask([sys.executable, "-c", VERSIONS], environment))}
    report.print_targets(found)
    return found


VERSIONS = """
import json, sys, numpy, sklearn, tenon
print(json.dumps({"tenon": tenon.__version__, "python": sys.version.split()[0], "numpy": numpy.__version__,
                  "sklearn": sklearn.__version__, "kernels": tenon.machine()["blas_kernels"]}))
"""
