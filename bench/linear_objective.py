# SPDX-License-Identifier: BSD-3-Clause
"""Objectives of linear classifiers in NumPy, double precision, from nothing but features, labels and weights.

Usage: linear_objective.py X.npy Y.npy HEAD.safetensors squared-hinge|hinge|logistic     Prints one JSON object.

  SVM       f_k = 1/2 (|w_k|^2 + b_k^2) + C sum_i max(0, 1 - y_ik s_ik)^p      p = 2 squared hinge, p = 1 hinge
  logistic  f = 1/2 |W|^2 + C sum_i (log sum_k exp s_ik - s_i,label)           s = X W' + b, |x_i| = 1, C = 1
"""
import json
import sys

import numpy as np

POWERS = {"squared-hinge": 2, "hinge": 1}


def unit_rows(path):
    """Features as double, every row divided by its length; a row of zeros stays."""
    x = np.load(path).astype(np.float64)
    lengths = np.linalg.norm(x, axis=1, keepdims=True)
    return np.divide(x, lengths, out=x, where=lengths > 0)


def load_head(path):
    """(weight, bias) as double. A safetensors file: 8 bytes of length, JSON header, the tensors."""
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = file.read()
    tensors = []
    for name in ("weight", "bias"):
        begin, end = header[name]["data_offsets"]
        dtype = {"F32": "<f4", "F64": "<f8"}[header[name]["dtype"]]
        tensors.append(np.frombuffer(data[begin:end], dtype).reshape(header[name]["shape"]).astype(np.float64))
    return tensors[0], tensors[1].reshape(-1)


def svm(x, labels, weight, bias, classes, power, cost=1.0):
    """f_k of these classes; row i of weight belongs to classes[i]."""
    signs = np.where(labels[:, None] == np.asarray(classes)[None, :], 1.0, -1.0)
    losses = np.maximum(0, 1 - signs * (x @ weight.T + bias)) ** power
    return (np.sum(weight ** 2, axis=1) + bias ** 2) / 2 + cost * losses.sum(axis=0)


def logistic(x, labels, weight, bias):
    scores = x @ weight.T + bias
    top = scores.max(axis=1)
    sums = top + np.log(np.exp(scores - top[:, None]).sum(axis=1))
    return np.sum(weight ** 2) / 2 + np.sum(sums - scores[np.arange(len(labels)), labels])


def main(features, labels, head, loss):
    x, y = unit_rows(features), np.load(labels)
    weight, bias = load_head(head)
    value = logistic(x, y, weight, bias) if loss == "logistic" else \
        svm(x, y, weight, bias, range(len(weight)), POWERS[loss]).sum()
    print(json.dumps({"objective": float(value)}))


if __name__ == "__main__":
    main(*sys.argv[1:5])
