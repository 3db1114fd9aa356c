# SPDX-License-Identifier: BSD-3-Clause
"""The recipes of docs/scale.md for Spark and Ray, each where its engine is installed."""
import numpy as np
import pytest
import tenon
from conftest import small_problem


def chunks():
    x, y = small_problem(240, 8, 3)
    return x, y, [(x[i:i + 60], y[i:i + 60]) for i in range(0, 240, 60)]


def same(total, x, y):
    assert total.rows == len(y)
    assert float(total.evidence()) == pytest.approx(float(tenon.Moments().update(x, y).evidence()), rel=1e-9)
    assert (total.fit().predict(x) == tenon.Moments().update(x, y).fit().predict(x)).all()


def test_spark():
    spark = pytest.importorskip("pyspark.sql").SparkSession.builder.master("local[2]").getOrCreate()
    x, y, parts = chunks()
    rdd = spark.sparkContext.parallelize(parts, 4)
    same(rdd.map(lambda part: tenon.Moments(n_jobs=1).update(*part)).treeReduce(lambda a, b: a + b), x, y)
    spark.stop()


def test_ray():
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=2, include_dashboard=False)
    x, y, parts = chunks()
    add_up = ray.remote(lambda part: tenon.Moments(n_jobs=1).update(*part))
    merge = ray.remote(lambda a, b: a + b)
    sums = [add_up.remote(part) for part in parts]
    while len(sums) > 1:
        sums = [merge.remote(*sums[i:i + 2]) if i + 1 < len(sums) else sums[i] for i in range(0, len(sums), 2)]
    same(ray.get(sums[0]), x, y)
    ray.shutdown()


def test_any_reduce():
    """What the recipes come to: every part summed by itself, two sums added at a time, in a tree or a chain."""
    x, y, parts = chunks()
    sums = [tenon.Moments(n_jobs=1).update(*part) for part in parts]
    same((sums[0] + sums[1]) + (sums[2] + sums[3]), x, y)
    same(((sums[3] + sums[0]) + sums[2]) + sums[1], x, y)
    assert [s.rows for s in sums] == [60] * 4
    assert np.array_equal(sums[0].classes_, [0, 1, 2])
