from __future__ import annotations

import math

import numpy as np
import torch

from calibrant.networks import MemberNetworks, NetworkSpec, PeriodicEmbedding
from calibrant.networks.embeddings import embed


def test_the_formula() -> None:
    torch.manual_seed(0)
    embedding = PeriodicEmbedding(2, 0.3)
    x = torch.randn(5, 2)
    result = embedding(x).detach().numpy()
    assert result.shape == (5, 2 * embedding.expansion) == (5, 2 + 2 * 16)
    c, weight, bias = (p.detach().numpy() for p in embedding.parameters())
    for row in range(5):
        parts = [x[row].numpy()]
        for j in range(2):
            angle = 2 * math.pi * c[j] * float(x[row, j])
            waves = np.concatenate([np.sin(angle), np.cos(angle)])
            parts.append(np.maximum(waves @ weight[j] + bias[j], 0.0))
        np.testing.assert_allclose(result[row], np.concatenate(parts), atol=1e-5)


def test_the_scale_is_that_of_the_first_frequencies() -> None:
    torch.manual_seed(0)
    frequencies = PeriodicEmbedding(200, 0.5).frequencies.detach()
    assert abs(float(frequencies.std()) / 0.5 - 1) < 4 / math.sqrt(2 * frequencies.numel())


def test_members_and_sequences_pass_through_it() -> None:
    networks = [
        NetworkSpec(n_inputs=3, hidden=(8,), steps=4, periodic=0.1).build() for _ in range(2)
    ]
    x = torch.randn(5, 4, 3)
    together = MemberNetworks(networks, sequences=True).outputs(x)
    for answer, network in zip(together, networks, strict=True):
        torch.testing.assert_close(answer, network(x))
    plain = NetworkSpec(n_inputs=3, hidden=(8,), steps=4).build()
    assert not any("frequencies" in name for name, _ in plain.named_parameters())


def test_the_slopes_of_an_embedding_are_differences() -> None:
    generator = torch.Generator().manual_seed(0)
    shapes = (2, 3, 2), (2, 2, 4), (2, 2, 8, 3), (2, 2, 3)
    x, *weights = (torch.randn(s, generator=generator, dtype=torch.float64) for s in shapes)
    leaves = [each.requires_grad_() for each in (x, *weights)]
    gate = torch.ones(2, dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda *parts: embed(*parts, gate), leaves)
