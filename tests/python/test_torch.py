# SPDX-License-Identifier: BSD-3-Clause
"""With torch itself, where it is installed (Debian: python3-torch); test_arrays.py has stubs of its tensors."""
import numpy as np
import pytest
from conftest import small_problem

import tenon
from tenon import EvidenceClassifier, FisherVector, GreedyTransferClassifier, OnlineClassifier

torch = pytest.importorskip("torch")


def tensors():
    x, y = small_problem()
    return torch.from_numpy(x.astype(np.float32)), torch.from_numpy(y)


def test_tensors_of_every_kind():
    x, y = tensors()
    plain = EvidenceClassifier(n_jobs=1).fit(x.numpy(), y.numpy())
    want = plain.decision_function(x.numpy())
    for form in (x, x.clone().requires_grad_(True), x.t().contiguous().t(), torch.nn.Parameter(x)):
        assert (EvidenceClassifier(n_jobs=1).fit(form, y).decision_function(form) == want).all()
    for kind in (torch.float16, torch.bfloat16, torch.float64, torch.int32):
        same = x.to(kind).float().numpy()
        other = EvidenceClassifier(n_jobs=1).fit(x.to(kind), y)
        assert (other.predict(x.to(kind)) == EvidenceClassifier(n_jobs=1).fit(same, y).predict(same)).all()
    assert plain.score(x, y) > 0.9 and tenon.rank({"x": x}, y).best == "x"
    assert tenon.Moments().update(x, y).rows == 90


def test_tensors_everywhere_else():
    x, y = tensors()
    online = OnlineClassifier().partial_fit(x, y, classes=torch.tensor([0, 1, 2]))
    assert (online.predict(x) == y.numpy()).mean() > 0.9
    transfer = GreedyTransferClassifier([x[:, :2]]).fit(x, y)
    assert (transfer.predict(x, sources=[x[:, :2]]) == y.numpy()).mean() > 0.9
    bags = torch.randn(6, 10, 8, generator=torch.Generator().manual_seed(0))
    encoder = FisherVector(words=2, pca=4).fit(bags)
    assert (encoder.transform(list(bags)) == encoder.transform(bags.numpy())).all()


def test_a_head_as_a_layer():
    x, y = tensors()
    model = EvidenceClassifier().fit(x, y)
    layer = model.to_torch()
    scores = layer(torch.nn.functional.normalize(x)).detach().numpy()
    # 8 products in single precision of numbers below the largest weight
    assert np.abs(scores - model.head_.scores(x)).max() < 8 * 2**-22 * (1 + np.abs(model.coef_).max())
