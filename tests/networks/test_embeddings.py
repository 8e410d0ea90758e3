from __future__ import annotations

import math

import numpy as np
import torch

from calibrant.networks import MemberNetworks, NetworkSpec, PeriodicEmbedding


def test_the_formula() -> None:
    torch.manual_seed(0)
    embedding = PeriodicEmbedding(3, 0.3, columns=(0, 2))
    x = torch.randn(5, 3)
    result = embedding(x).detach().numpy()
    assert result.shape == (5, embedding.n_outputs) == (5, 3 + 2 * 3)
    c, phase, weight, bias = (p.detach().numpy() for p in embedding.parameters())
    for row in range(5):
        parts = [x[row].numpy()]
        for i, j in enumerate((0, 2)):
            waves = np.cos(2 * math.pi * (c[i] * float(x[row, j]) + phase[i]))
            parts.append(waves @ weight[i] + bias[i])
        np.testing.assert_allclose(result[row], np.concatenate(parts), atol=1e-5)


def test_every_output_knows_its_input() -> None:
    embedding = PeriodicEmbedding(3, 0.3, columns=(0, 2))
    assert embedding.sources().tolist() == [0, 1, 2, 0, 0, 0, 2, 2, 2]
    x = torch.zeros(1, 3)
    moved = x.clone()
    moved[0, 2] = 1.0
    changed = (embedding(x) != embedding(moved))[0]
    assert changed.tolist() == [source == 2 for source in embedding.sources().tolist()]


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


def test_without_columns_to_embed_there_is_no_embedding() -> None:
    network = NetworkSpec(n_inputs=3, hidden=(8,), periodic=0.1, embedded=()).build()
    assert not any("frequencies" in name for name, _ in network.named_parameters())
