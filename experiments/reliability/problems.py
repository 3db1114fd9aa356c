# SPDX-License-Identifier: BSD-3-Clause
"""Random problems, each from its seed alone: shapes, conditioning, element types, labels, and the way it is to be learned."""
import json
import struct

import numpy as np

TYPES = ("f2", "bf16", "f4", "f8", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8")
CHANCES = np.array([6, 6, 30, 26, 5, 5, 4, 4, 4, 3, 4, 3]) / 100
NORMALIZE = ("none", "zscore", "l2", "l1", "root")
METHODS = ("evidence", "squared-hinge", "free-bias", "hinge", "logistic", "online")
ONLINE = ("perceptron", "sgd", "pa", "pa2", "cw", "arow", "nherd", "scw", "scw2")
MOST_ROWS, TALL_ROWS, TALL_COLS = 200, 3000, 12  # tall ones need several blocks of rows


class Problem:
    """x is what the file holds, in double or as whole numbers; y (N, K) what is to be learned."""

    def __init__(self, seed):
        self.seed = seed
        rng = np.random.default_rng([seed, 20])
        self.rows = max(2, int(np.exp(rng.uniform(np.log(2), np.log(MOST_ROWS + 1)))))
        self.cols = max(1, int(np.exp(rng.uniform(0, np.log(4 * self.rows + 1)))))
        if rng.random() < 0.05:
            self.rows, self.cols = int(rng.integers(MOST_ROWS, TALL_ROWS)), int(rng.integers(1, TALL_COLS))
        self.type = str(rng.choice(TYPES, p=CHANCES))
        self.task = str(rng.choice(("multiclass", "multilabel", "regression"), p=(0.6, 0.2, 0.2)))
        self.normalize = str(rng.choice(NORMALIZE, p=(0.4, 0.2, 0.2, 0.1, 0.1)))
        self.intercept = bool(rng.random() < 0.75)
        self.balanced = bool(rng.random() < 0.2)
        self.cost = float(10 ** rng.uniform(-2, 3))
        self.method = "evidence" if self.task == "regression" else str(rng.choice(METHODS, p=(0.35, 0.15, 0.15, 0.15, 0.15, 0.05)))
        self.learner = str(rng.choice(ONLINE))
        if self.method == "free-bias" and not self.intercept:
            self.method = "squared-hinge"
        hidden = self.make_rows(rng)
        self.make_labels(rng, hidden)

    # ---- rows ----

    def make_rows(self, rng):
        """Hidden values (N, h) that the labels follow, mixed into columns of unlike spread about an offset."""
        n, d = self.rows, self.cols
        hidden = rng.standard_normal((n, min(n, d)))
        self.spread = float(rng.choice([0, rng.uniform(0, 4)]))  # decades between directions
        self.offset = float(rng.choice([0, rng.uniform(0, 6)], p=(0.4, 0.6)))  # decades of mean over deviation; 0: none
        scales = 10 ** -rng.uniform(0, self.spread, hidden.shape[1]) if self.spread else np.ones(hidden.shape[1])
        x = np.zeros((n, d))
        x[:, :hidden.shape[1]] = hidden * scales
        for _ in range(3):  # reflections mix the columns and keep the spreads
            v = rng.standard_normal(d)
            x -= np.outer(x @ v, v) * (2 / (v @ v))
        if self.offset:
            x = x + 10 ** self.offset * x.std() * rng.uniform(-1, 1, d)
        self.drift = float(rng.choice([0, rng.uniform(0, 3)], p=(0.85, 0.15)))  # later rows lie elsewhere, as of another camera
        if self.drift:
            x[int(rng.integers(1, n)):] += 10 ** self.drift * hidden.std() * rng.standard_normal(d) / np.sqrt(d)
        self.scale = float(rng.choice([0, rng.uniform(-3, 3), rng.uniform(-25, 25)], p=(0.5, 0.4, 0.1)))
        self.x = self.as_stored(x)
        return hidden

    def as_stored(self, x):
        if self.type == "f8":
            return x * 10 ** self.scale
        if self.type == "f4":
            return (x * 10 ** self.scale).astype("f4")
        if self.type in ("f2", "bf16"):
            x = x / np.abs(x).max() * 10 ** np.clip(self.scale, -2, 4)
            return x.astype("f2") if self.type == "f2" else bf16(x)
        info = np.iinfo(self.type)
        most = min(float(info.max), 1e12) * 0.9
        steps = 10 ** (2 + self.spread / 2)  # of the largest deviation, as far as the type holds it
        deviation = x.std() or 1.0
        x = np.rint(x / deviation * min(steps, most * deviation / np.abs(x).max()))
        return (x - x.min() if self.type[0] == "u" else x).clip(info.min, most).astype(self.type)

    # ---- labels ----

    def make_labels(self, rng, hidden):
        n = self.rows
        noise = float(10 ** rng.uniform(-4, 0.5))
        if self.task == "regression":
            k = int(rng.integers(1, 4))
            self.y = self.follow(rng, hidden, k, noise)
            return
        if self.task == "multilabel":
            k = int(rng.integers(2, 11))
            self.y = (self.follow(rng, hidden, k, noise) > rng.normal(0, 0.7, k)).astype(float)
            if not (self.y.min(0) != self.y.max(0)).any():  # not one class to learn
                self.y[0, 0], self.y[1, 0] = 0, 1
            return
        one_a_class = rng.random() < 0.08 and n <= 20
        k = n if one_a_class else int(rng.integers(2, min(20, n) + 1))
        classes = np.argmax(self.follow(rng, hidden, k, noise) + rng.normal(0, rng.uniform(0, 1), k), axis=1)
        if one_a_class:
            classes = rng.permutation(n)
        if len(np.unique(classes)) < 2:
            classes[0] = (classes[0] + 1) % k
        _, self.classes = np.unique(classes, return_inverse=True)
        self.y = np.eye(self.classes.max() + 1)[self.classes]

    @staticmethod
    def follow(rng, hidden, k, noise):
        some = hidden[:, :max(1, int(rng.integers(1, hidden.shape[1] + 1)))]
        w = rng.standard_normal((some.shape[1], k)) / np.sqrt(some.shape[1])
        return some @ w + noise * rng.standard_normal((len(some), k))

    # ---- files ----

    def write(self, folder):
        """Names of the representation, as an argument, and of the labels."""
        if self.type == "bf16":
            name = folder / "x.safetensors"
            values = (self.x.astype("f4").view("u4") >> 16).astype("<u2").tobytes()
            header = json.dumps({"x": {"dtype": "BF16", "shape": list(self.x.shape), "data_offsets": [0, len(values)]}}).encode()
            header += b" " * (-len(header) % 8)
            name.write_bytes(struct.pack("<Q", len(header)) + header + values)
            rep = f"a={name}:x"
        else:
            np.save(folder / "x.npy", self.x)
            rep = f"a={folder / 'x.npy'}"
        labels = folder / "y.npy"
        np.save(labels, self.classes if self.task == "multiclass" else
                self.y.astype("i1") if self.task == "multilabel" else self.y)
        return rep, str(labels)

    def rounded_rows(self):
        """Rows of narrow types are prepared in float: what normalisation makes of them is rounded. Wide ones keep their digits."""
        return self.normalize != "none" and self.type in ("f2", "bf16", "f4", "i1", "u1", "i2", "u2")

    def may_be_refused(self, rows):
        """Values whose squares leave the range of float; and rows, prepared as learners see them, whose columns lie so far from zero
        that float keeps nothing of them, where no intercept takes that up."""
        sizes, rows = np.abs(self.x.astype(float)), rows.astype(float)
        far = np.abs(rows.mean(0)) > 16000 * rows.std(0)
        return sizes.max() > 1e15 or 0 < sizes.max() < 1e-15 or (self.method != "evidence" and not self.intercept and far.any())

    def about(self):
        return (f"{self.rows} x {self.cols} {self.type}, {self.task} {self.y.shape[1]}, {self.normalize}, "
                f"intercept {'yes' if self.intercept else 'no'}, {self.method}, offset 10^{self.offset:.1f}, spread "
                f"10^{self.spread:.1f}, scale 10^{self.scale:.1f}, drift 10^{self.drift:.1f}, C {self.cost:.3g}{', balanced' if self.balanced else ''}"
                f"{', ' + self.learner if self.method == 'online' else ''}")


def bf16(x):
    """Rounded to nearest, ties to even, as float32."""
    bits = x.astype("f4").view("u4")
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16 << 16).astype("u4").view("f4")
