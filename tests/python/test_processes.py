# SPDX-License-Identifier: BSD-3-Clause
"""Threads, forks, workers, signals."""
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest
from conftest import small_problem
from sklearn.base import clone

from tenon import EvidenceClassifier, LinearSVMClassifier, LogisticClassifier

MODELS = (EvidenceClassifier(), LinearSVMClassifier(), LogisticClassifier())


def work(seed):
    """Coefficients of some heads, for a problem that is large enough for threads and BLAS."""
    x, y = small_problem(300, 60, 5, seed)
    return [clone(model).fit(x, y).coef_ for model in MODELS]  # an estimator of one's own: fit changes it


def same(a, b):
    return all((p == q).all() for p, q in zip(a, b))


def test_threads_have_the_numbers_of_one():
    want, got = [work(i) for i in range(4)], [None] * 8

    def run(i):
        got[i] = work(i % 4)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert all(same(got[i], want[i % 4]) for i in range(8))


def test_threads_share_a_head():
    x, y = small_problem(300, 60, 5)
    model = EvidenceClassifier().fit(x, y)
    want, wrong = model.predict_proba(x), []

    def run():
        for _ in range(20):
            if not (model.predict_proba(x) == want).all():
                wrong.append(1)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_a_forked_child_works():
    want = work(0)
    child = os.fork()
    if child == 0:
        os._exit(0 if same(work(0), want) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert same(work(0), want)


def test_a_fork_while_another_thread_works():
    stop = threading.Event()

    def busy():
        while not stop.is_set():
            work(1)

    thread = threading.Thread(target=busy)
    thread.start()
    try:
        for _ in range(3):
            child = os.fork()
            if child == 0:
                x, y = small_problem(300, 60, 5)
                os._exit(0 if EvidenceClassifier().fit(x, y).score(x, y) > 0.5 else 1)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        stop.set()
        thread.join()


def test_pools_of_processes():
    want = [work(i) for i in range(3)]
    with multiprocessing.get_context("fork").Pool(2) as pool:
        got = pool.map(work, range(3))
    assert all(map(same, got, want))


def test_joblib_workers():
    joblib = pytest.importorskip("joblib")
    want = [work(i) for i in range(3)]
    got = joblib.Parallel(n_jobs=2, backend="loky")(joblib.delayed(work)(i) for i in range(3))
    # a worker has fewer threads, and a threaded BLAS rounds otherwise: sums of n = 300 products
    assert all(np.allclose(p, q, rtol=1e-3, atol=1e-4) for a, b in zip(got, want) for p, q in zip(a, b))


SCRIPT = """
    import os, signal, sys, threading
    import numpy as np
    from tenon import OnlineClassifier
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(20000, 200)), rng.integers(0, 20, 20000)
    model = OnlineClassifier("arow", epochs=100000)
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    try:
        model.fit(x, y)
    except KeyboardInterrupt:
        print("stopped")
    print(OnlineClassifier(epochs=1).fit(x[:100], y[:100]).head_.method)
"""


def test_ctrl_c_stops_a_fit_and_leaves_the_rest_working():
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(SCRIPT)], capture_output=True, text=True, timeout=200,
                          check=False)
    assert done.stdout.split() == ["stopped", "pa"], done.stderr
    assert done.stderr == ""


TRANSFER = """
    import os, signal, sys, threading
    import numpy as np
    from tenon import GreedyTransferClassifier
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(900, 60)), rng.integers(0, 3, 900)
    model = GreedyTransferClassifier([rng.normal(size=(900, 400))], method=sys.argv[1])
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    try:
        model.fit(x, y)
    except KeyboardInterrupt:
        print("stopped")
"""


@pytest.mark.parametrize("method", ["multikt-l1", "multikt-l2", "l1-logistic", "elastic-net"])
def test_ctrl_c_stops_a_transfer(method):
    """Which would take minutes: the library looks for it within the steps of a solver."""
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(TRANSFER), method], capture_output=True, text=True,
                          timeout=200, check=False)
    assert done.stdout.split() == ["stopped"] and done.stderr == ""


def test_what_a_signal_handler_raises_ends_a_fit():
    class Alarm(Exception):
        pass

    def ring(number, frame):
        raise Alarm

    from tenon import OnlineClassifier

    x, y = small_problem(2000, 100, 10)
    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises(Alarm):
            OnlineClassifier("arow", epochs=1000000).fit(x, y)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert OnlineClassifier(epochs=1).fit(x, y).score(x, y) > 0.5


def test_the_blas_threads_of_numpy_are_left_alone():
    threadpoolctl = pytest.importorskip("threadpoolctl")
    before = [(p["filepath"], p["num_threads"]) for p in threadpoolctl.threadpool_info()]
    work(0)
    assert [(p["filepath"], p["num_threads"]) for p in threadpoolctl.threadpool_info()] == before


def test_the_environment_is_left_alone():
    script = "import os, ctypes, tenon; g = ctypes.CDLL(None).getenv; g.restype = ctypes.c_char_p; " \
             "print(g(b'OPENBLAS_CORETYPE'))"
    environment = {k: v for k, v in os.environ.items() if k != "OPENBLAS_CORETYPE"}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.strip() == "None"
