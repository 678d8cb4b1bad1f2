"""Losses over pairs of samples and unbiased statistics: their numbers are 1 / (N - 1), 1 / (N (N - 1)), N^2, ...
What such a step becomes at another batch is what would be recorded there, and in parts it is the step."""

from support import at_batch, without_slopes  # first

import gzip
import json
import unittest

import torch
from torch import nn
from torch.nn import functional as F

from in_parts import InParts

BATCH, OTHER = 8, 12
WIDTH = 6


def off_diagonal(x):
    n, m = x.shape
    return x.flatten()[:-1].view(n - 1, m + 1)[:, 1:].flatten()


def vicreg(x, y):
    """Bardes, Ponce, LeCun 2022: variance, invariance, covariance."""
    n, d = x.shape
    loss = 25 * F.mse_loss(x, y)
    for z in (x, y):
        z = z - z.mean(0)
        loss = loss + 12.5 * F.relu(1 - torch.sqrt(z.var(0) + 1e-4)).mean()
        loss = loss + off_diagonal((z.T @ z) / (n - 1)).pow_(2).sum() / d
    return loss


def vicreg_by_library(x, y):
    loss = F.mse_loss(x, y) + F.relu(1 - x.std(0)).mean() + F.relu(1 - y.std(0)).mean()
    for z in (x, y):
        loss = loss + torch.cov(z.T).fill_diagonal_(0).pow(2).sum() / z.shape[1]
    return loss


def barlow_twins(x, y):
    """Zbontar et al. 2021: the correlation of two views is to be the identity."""
    x, y = ((z - z.mean(0)) / z.std(0) for z in (x, y))
    c = (x.T @ y) / x.shape[0]
    c = (c - torch.eye(c.shape[0])).pow(2)
    return c.diagonal().sum() + 0.005 * c.fill_diagonal_(0).sum()


def distances(x, y):
    """Maximum mean discrepancy, unbiased, over all pairs but those of a sample with itself."""
    n = x.shape[0]

    def kernel(a, b):
        return torch.exp(-(a[:, None] - b[None]).pow(2).sum(-1))
    loss = -2 * kernel(x, y).mean()
    for z in (x, y):
        k = kernel(z, z)
        loss = loss + (k.sum() - k.diagonal().sum()) / (n * (n - 1))
    return loss


def uniformity(x, y):
    """Wang, Isola 2020, over the pairs of a matrix."""
    return (x - y).pow(2).sum(1).mean() + torch.cdist(x, x).pow(2).mul(-2).exp().flatten().mean().log()


def independence(x, y):
    """The Hilbert-Schmidt criterion."""
    n = x.shape[0]
    h = torch.eye(n, dtype=x.dtype) - 1.0 / n
    return ((x @ x.T @ h) * (y @ y.T @ h).T).sum() / (n - 1) ** 2


def variances(x, y):
    return x.var() + torch.var_mean(y, 0)[0].sum() + torch.std_mean(x, 0)[0].sum() + y.sum(1).std() / x.shape[0] ** 0.5


LOSSES = (vicreg, vicreg_by_library, barlow_twins, distances, uniformity, independence, variances)


class Views(nn.Module):
    def __init__(self, loss):
        super().__init__()
        self.first, self.second, self.loss = nn.Linear(5, WIDTH), nn.Linear(WIDTH, WIDTH), loss

    def forward(self, a, b):
        x, y = (self.second(torch.tanh(self.first(view))) for view in (a, b))
        return self.loss(x, y)


class Statistics(InParts):
    files = {}  # loss, batch and whether its proof is wanted -> the file of the step, recorded once for all tests

    def recorded(self, loss, batch, rebatch=None):
        """The recorded graph; it lies in step.json.gz."""
        path, key = self.folder / "step.json.gz", (loss, batch, rebatch)
        if key not in self.files:
            model = Views(loss)
            self.exported(model, (torch.zeros(batch, 5), torch.zeros(batch, 5)), None,
                          torch.optim.SGD(model.parameters(), 0.1), batch=batch, rebatch=rebatch)
            self.files[key] = path.read_bytes()
        path.write_bytes(self.files[key])
        return json.loads(gzip.decompress(self.files[key]))

    def test_another_batch_is_what_is_recorded_there(self):
        for loss in LOSSES:
            with self.subTest(loss.__name__):
                graph = self.recorded(loss, BATCH)
                self.assertNotIn("obstacle", graph["batch_proof"])
                for batch in (4, OTHER, 21):
                    direct = self.recorded(loss, batch, rebatch=False)
                    self.assertEqual(at_batch(graph, batch), without_slopes(direct), batch)

    # The recorded step, planned for another batch in parts of uneven numbers of samples: executed, it leaves
    # behind what the step recorded at that batch leaves behind.
    def test_in_parts_it_is_the_step_at_any_batch(self):
        for loss in LOSSES:
            for batch in (BATCH, OTHER, 9):
                with self.subTest(loss.__name__, batch=batch):
                    self.recorded(loss, batch, rebatch=False)
                    direct = self.folder / "direct.json.gz"
                    (self.folder / "step.json.gz").rename(direct)
                    self.recorded(loss, BATCH)
                    self.compare("data-parallel", batch=batch, original=direct)


if __name__ == "__main__":
    unittest.main()
