# SPDX-License-Identifier: BSD-3-Clause
"""Which rows play which part: the paper's leave-one-class-out, on sets that come with their own test rows.

Of the classes of a set NEGATIVE_SHARE, the paper's 100 of 256, are held out: together they are the negative class. Their
training rows are split 90 to 10 into negatives of the sources and negatives of the target; their test rows are only
tested on. Every other class is the target once, with the classifiers of all others as its sources. Draws depend on set,
class and number alone, so that all networks and methods see the same rows.
"""
import random

from npy import read_numbers

STRONG, WEAK = ("squeezenet", "mobilenetv2"), ("darknet", "doodle")
NETWORKS = STRONG + WEAK
SIZES, NEGATIVES, TEST, DRAWS = (2, 5, 10), 10, 50, 10
NEGATIVE_SHARE, TARGET_SHARE = 100 / 256, 0.1

METHODS = ("greedytl", "auto", "rls", "none", "average", "dam", "multikt-l2", "multikt-l1", "l1-logistic", "elastic-net",
           "forward", "l1-logistic balanced", "elastic-net balanced")
ORACLE = "best source"

# With two positives against ten negatives leave-one-out finds nothing better than no column at all for the logistic methods:
# every lambda misses the positives. With class weights it does, so both are shown, and with noise, where a method that
# picks nothing has nothing to lose, only these. The other methods change by a point or two, up or down.
NOISE = (10, 100, 1000)
NOISE_METHODS = ("greedytl", "rls", "l1-logistic balanced", "elastic-net balanced", "forward")
SHELF = ("imagenet_scores", "places_scores")


def rows_by_class(path):
    groups = {}
    for row, label in enumerate(read_numbers(path)[1]):
        groups.setdefault(label, []).append(row)
    return groups


def plan(folder):
    """Everything about a set that no draw changes."""
    train, test = (rows_by_class(folder / f"labels.{part}.npy") for part in ("train", "test"))
    rng = random.Random(f"{folder.name} negatives")
    held = sorted(rng.sample(sorted(train), round(NEGATIVE_SHARE * len(train))))
    negatives = [row for label in held for row in train[label]]
    target = set(rng.sample(negatives, round(TARGET_SHARE * len(negatives))))
    return {"name": folder.name, "folder": folder, "rows": sum(map(len, train.values())), "classes": len(train),
            "targets": [label for label in sorted(train) if label not in held], "train": train, "test": test,
            "source_negatives": [row for row in negatives if row not in target],
            "target_negatives": sorted(target), "test_negatives": [row for label in held for row in test[label]]}


def weighing(method):
    """(the program's word for the method, that for its class weights)"""
    word, _, weights = method.partition(" ")
    return word, weights or "none"


def positives(study, label):
    """Test rows of a class in a draw."""
    return min(TEST, len(study["test"][label]))


def draw(study, label, number):
    """(training rows, test rows): negatives first. Of the positives to train on the first 2, 5, 10 are the smaller draws;
    test rows are filled up with repetitions, which get no label, so that all draws have the same shape."""
    rng = random.Random(f"{study['name']} {label} {number}")
    train = rng.sample(study["target_negatives"], NEGATIVES) + rng.sample(study["train"][label], max(SIZES))
    test = rng.sample(study["test_negatives"], TEST) + rng.sample(study["test"][label], positives(study, label))
    return train, test + test[:1] * (2 * TEST - len(test))
