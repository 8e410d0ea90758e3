"""The two-stage method of the paper, made to work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from calibrant.distributions import Distribution, Snapped
from calibrant.errors import ParameterError
from calibrant.estimators._atoms import (
    cells_of,
    find_atoms,
    find_spikes,
    fit_map_and_order,
    spike_outputs,
)
from calibrant.estimators._base import LEAST_HELD_OUT
from calibrant.estimators._moments import weighted_mixture
from calibrant.estimators._neighbours import MOST_ROWS, Neighbours
from calibrant.estimators._objectives import mean_crps, pit_values
from calibrant.estimators._pilot import choose_embeddings
from calibrant.estimators._pooling import as_of_all, best_share, narrowing, pool_crps
from calibrant.estimators._quality import PRESETS, Quality
from calibrant.estimators._splits import Fold, cross_folds
from calibrant.estimators._together import Lot
from calibrant.estimators._validation import Sample
from calibrant.estimators._windows import Windows
from calibrant.estimators.heteroscedastic import HeteroscedasticRegressor
from calibrant.kernels import (
    PUBLISHED_BANDWIDTHS,
    EnergyKernel,
    GaussianKernel,
    Kernel,
    adaptive_bandwidths,
    median_rows,
    median_squared_distance,
)
from calibrant.losses import DistributionMatchingLoss, kernel_score
from calibrant.losses._condition import Match
from calibrant.losses.matching import Expectation, Statistic
from calibrant.networks import (
    DistributionNetwork,
    Head,
    MemberNetworks,
    MixtureHead,
    close_gates,
    hide_inputs,
    to_numpy,
)
from calibrant.recalibration import fit_pit_map
from calibrant.training import MemberRows, Rows, Stage

_LEAST_ROWS = 5  # of a fold; with fewer a hold-out leaves more to train on
# A part of few rows is too little to stop and to calibrate by, and too much to do without.
_FEW_ROWS, _FOLDS_OF_FEW = 1000, 5
_NEIGHBOURS_FROM = 100  # rows; the nearest of fewer are not near
_FEW_NETWORKS = 4  # of a kind, enough to tell which kind is better


@dataclass(kw_only=True, repr=False, eq=False)
class MMDRegressor(HeteroscedasticRegressor):
    """Calibrated regression by maximum mean discrepancy.

    1. Stage 1 fits mean and variance by likelihood (`HeteroscedasticRegressor`).
    2. Stage 2 matches the distribution of the targets with the predictive one: it minimises
       ``matching + anchor * score``, the squared MMD over pairs of rows plus a kernel score,
       a proper scoring rule that keeps the prediction sharp while it is matched. Epochs are
       judged by the CRPS of the held-out rows; a stage that does not improve it is rolled back.
    3. A monotone map of the predictive distribution functions, learned from the held-out rows,
       removes the miscalibration that is left at every level.

    Which rows are held out, and how many networks there are, follows from `quality` and the
    number of rows: one part of the rows for all networks, or folds, each held out from networks
    of its own (`cross_fit`). Several networks are pooled: their distribution functions are
    averaged, ``F(y) = sum_i w_i F_i(y)``, before the map.

    `as_published` gives Algorithm 1 of the paper to the letter instead.

    Parameters
    ----------
    quality : {"fast", "default", "best"}
        How much work a model is worth; sets what is left at None, `head` and `epochs` too.
        "fast" is one Gaussian network, matched given the input for five epochs. "default" is one
        with a mixture head (five below 1,000 rows), trained by the kernel score with averaged
        weights and a rate that falls at the end. "best" trains such networks four times as long,
        of two kinds (`neighbours`), cross-fitted on four folds dealt out twice, and pools them; a
        pilot decides about `periodic`.
    periodic : float, "auto" or None
        As in `HeteroscedasticRegressor`; with "auto" ("best") a short training with and without
        the embedding decides, by the CRPS of held-out rows.
    members : int or None
        Networks whose predictions are mixed; with `cross_fit`, how often all rows are dealt out.
    cross_fit : int or None
        Folds into which the rows are dealt out, `members` times anew. Every fold has a network
        that never sees it and is stopped on it, so that every row is held out `members` times
        and all rows teach the map. 0 holds one part of the rows out for all networks, as do
        `validation_data` and `cv` of `fit`. None leaves it to `quality`: 4 for "best"; "default"
        takes 5 below 1,000 rows, else 0.
    match : {"rows", "joint", "marginal", "distribution"} or None
        Which pairs of rows are compared: each row with itself alone, which is the kernel score
        of `anchor`; pairs given the input; all pairs (the paper); or pairs given the prediction.
        The marginal objective can't tell a collapsed mean with an inflated spread from the truth.
    statistic : {"u", "v"}, default "u"
        Without or with the terms i = j; with them the predictive variance is penalised.
    expectation : {"closed", "sampled"}, default "closed"
        Exact expectations of the kernel, or one draw a row (the paper).
    bandwidths : "adaptive", "published" or sequence of float, default "adaptive"
        The h of ``exp(-d^2 / (2 h))`` in squared units of the scaled target; adaptive ones run
        from a twentieth to twice its spread.
    condition_bandwidth : float or None
        Bandwidth of the kernel on the inputs; None takes a tenth of the median squared distance.
    anchor : float, default 1
        Weight of the kernel score; 0 leaves matching alone.
    anchor_kernel : {"energy", "gaussian"}, default "energy"
        Kernel of the score: the energy kernel makes it the CRPS, "gaussian" is the kernel that
        is matched with.
    updates : {"all", "head"}, default "all"
        Which weights move in stage 2.
    rollback : bool, default True
        Return to the epoch of stage 2 with the best held-out CRPS, its start included.
    matching_epochs, matching_batch_size, matching_lr, matching_patience
        Budget of stage 2, as `epochs`, `batch_size`, `lr` and `patience` are of stage 1.
    neighbours : bool or None
        Train a second network for every one, which also sees the targets of the nearest training
        rows; the CRPS of held-out rows decides how much each kind counts. For the "mlp" on tables
        of 100 to 200,000 rows, where `fit` itself chooses what is held out. The model then keeps
        its training rows, inputs and targets, and `save` writes them: mind their size, and who
        may read them.
    average : float or None
        Epochs over which the weights of stage 2 are averaged; 0 takes them as they are.
    decay : float or None
        Share of the epochs of stage 2, the last ones, over which its learning rate falls to 0.
    atoms : bool, default True
        Whether values that the training rows take again and again (whole numbers, grades, zeros)
        get a probability of their own: what the networks say of the places around them. They
        are all values of a target that repeats each 20 times on average, and of another target
        those that 1% of the rows have.
    recalibrate : bool, default True
        Learn the final monotone map from the held-out rows.

    Attributes
    ----------
    atoms_ : array of shape (A, 3)
        Values that have a probability, and the ends of the cells that belong to them.
    atoms_first_ : bool
        Whether the map follows the move onto the atoms or comes before it, as held-out rows want.
    spikes_ : array of shape (S, 3)
        Those that 5% of the rows have while others have values of their own: each is a component
        of the mixtures.
    shares_ : array of shape (1,) or (2,)
        Weights of the kinds of networks in the pool: with `neighbours` first of those that see
        them, then of those that do not.

    Notes
    -----
    All other parameters and attributes are those of `HeteroscedasticRegressor`.

    A cross-fitted row is judged by `members` networks of a kind, while all of them will predict.
    The mean square of ``F(y) - 1/2`` of a pool of r networks is ``a + b / r``, which is
    extrapolated to the whole pool before the map is learned.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import MMDRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (300, 1))
    >>> y = X[:, 0] + (0.1 + 0.2 * (X[:, 0] > 0)) * rng.standard_normal(300)
    >>> model = MMDRegressor(random_state=0).fit(X, y)
    >>> model.predict_quantiles(X, alpha=[0.1, 0.5, 0.9]).shape
    (300, 3)
    """

    quality: Quality = "default"
    head: Literal["gaussian", "mixture"] | None = None  # type: ignore[assignment]
    epochs: int | None = None  # type: ignore[assignment]
    members: int | None = None
    cross_fit: int | None = None
    match: Match | Literal["rows"] | None = None
    statistic: Statistic = "u"
    expectation: Expectation = "closed"
    bandwidths: Sequence[float] | Literal["adaptive", "published"] = "adaptive"
    condition_bandwidth: float | None = None
    anchor: float = 1.0
    anchor_kernel: Literal["energy", "gaussian"] = "energy"
    updates: Literal["all", "head"] = "all"
    rollback: bool = True
    matching_epochs: int | None = None
    matching_batch_size: int | Literal["auto"] = "auto"
    matching_lr: float | None = None
    matching_patience: int | None = None
    neighbours: bool | None = None
    average: float | None = None
    decay: float | None = None
    atoms: bool = True
    recalibrate: bool = True

    if TYPE_CHECKING:
        atoms_: NDArray[np.float64]
        atoms_first_: bool
        spikes_: NDArray[np.float64]
        shares_: NDArray[np.float64]
        folds_: float

    _numbers: ClassVar[tuple[str, ...]] = ("atoms_", "atoms_first_", "spikes_", "shares_", "folds_")
    # Whether the networks see their inputs through embeddings; found out where it is "auto".
    _sees_waves = True

    @classmethod
    def as_published(cls, **changes: Any) -> Self:
        """Algorithm 1 with the hyper-parameters of the paper.

        Data scaled to [0, 1]; 256-256 ReLU, or LSTM 128-64 with ``network="lstm"``; Adam, lr
        1e-4, weight decay 1e-3; stage 1 by plain likelihood; stage 2 by the biased (V) statistic
        of one draw a row against the targets, six kernels, all weights, no anchor, no roll-back,
        no map. Where the paper is silent: batches of 1024, stage 1 up to 1000 epochs with
        patience 50, stage 2 up to 200 epochs.

        Parameters
        ----------
        **changes
            Other parameters, such as ``random_state`` or ``device``.

        Notes
        -----
        Kept to compare with. On real data stage 2 damages the model: on [0, 1] these bandwidths
        leave a signal below the noise of a batch, and the marginal does not fix the mean.
        """
        published: dict[str, Any] = {
            "quality": "fast",
            "scaling": "minmax",
            "lr": 1e-4,
            "weight_decay": 1e-3,
            "batch_size": 1024,
            "epochs": 1000,
            "patience": 50,
            "dropout": 0.0,
            "beta": 0.0,
            "cross_fit": 0,
            "match": "marginal",
            "statistic": "v",
            "expectation": "sampled",
            "bandwidths": "published",
            "anchor": 0.0,
            "updates": "all",
            "rollback": False,
            "matching_epochs": 200,
            "matching_batch_size": 1024,
            "matching_lr": 1e-4,
            "matching_patience": 200,
            "neighbours": False,
            "average": 0.0,
            "decay": 0.0,
            "atoms": False,
            "recalibrate": False,
        }
        return cls(**(published | changes))

    def _stages(self, lots: Sequence[Rows], generator: torch.Generator) -> list[Stage]:
        # Scaled targets of several models have the same spread but for rounding.
        kernel = GaussianKernel(self._bandwidths(lots[0].y))
        matching = self._matching(kernel, lots)
        anchor_kernel: Kernel = EnergyKernel() if self.anchor_kernel == "energy" else kernel

        def loss(network: MemberNetworks, rows: Rows) -> Tensor:
            outputs = network.outputs(rows.x)
            dist = network.head.torch_distribution(outputs)
            terms: list[Tensor] = []
            if matching is not None:
                matched, some = self._matched(outputs, rows)
                part = dist if matched is outputs else network.head.torch_distribution(matched)
                terms.append(matching(part, some.y, some.flat, some.weight, generator))
            if self.anchor > 0:
                score = kernel_score(dist, rows.y, anchor_kernel, torch.float32)
                terms.append(self.anchor * (rows.weight * score).mean(dim=-1))
            return terms[0] if len(terms) == 1 else terms[0] + terms[1]

        size = self.matching_batch_size
        stage2 = Stage(
            number=2,
            loss=loss,
            score=mean_crps,
            epochs=self._setting("matching_epochs"),
            batch_size=self._batch_size(lots) if size == "auto" else size,
            lr=self._setting("matching_lr"),
            weight_decay=self.weight_decay,
            patience=self._setting("matching_patience"),
            average=self._setting("average"),
            decay=self._setting("decay"),
            updates=self.updates,
            keep_best=self.rollback,
            name="matching",
            score_name="CRPS",
            pit=pit_values,
        )
        return [*super()._stages(lots, generator), stage2]

    def _matching(self, kernel: Kernel, lots: Sequence[Rows]) -> DistributionMatchingLoss | None:
        match = self._setting("match")
        if match == "rows":
            return None  # the anchor is all there is
        return DistributionMatchingLoss(
            match=match,
            statistic=self.statistic,
            expectation=self.expectation,
            kernel=kernel,
            condition_bandwidth=self._condition_bandwidth(lots),
        )

    def _matched(self, outputs: Tensor, rows: Rows) -> tuple[Tensor, Rows]:
        """Outputs and rows of a batch to match pairwise.

        Two rows of a mixture are K^2 pairs of normals; a K-th of the rows, which are in random
        order, makes as many pairs as all rows of a single normal would.
        """
        if self._setting("head") != "mixture":
            return outputs, rows
        kept = slice(None, max(2, rows.n_rows // self.components))
        some = Rows(*(part[:, kept] for part in (rows.x, rows.y, rows.weight)))
        return outputs[:, kept], some

    def _bandwidths(self, y: Tensor) -> Sequence[float]:
        if self.bandwidths == "adaptive":
            return adaptive_bandwidths(float(y.std()) or 1.0)
        if self.bandwidths == "published":
            return PUBLISHED_BANDWIDTHS
        if isinstance(self.bandwidths, str):
            raise ParameterError(
                'bandwidths must be "adaptive", "published" or a list of positive numbers, got '
                f"{self.bandwidths!r}."
            )
        return self.bandwidths

    def _condition_bandwidth(self, lots: Sequence[Rows]) -> Tensor | float | None:
        """Bandwidth of every member: the inputs of several models lie differently far apart."""
        if self._setting("match") == "joint" and self.condition_bandwidth is None:
            some = [rows.take(median_rows(len(rows.y))).flat for rows in lots]
            medians = np.repeat([median_squared_distance(x) for x in some], self._n_members())
            return 0.1 * torch.as_tensor(medians, device=some[0].device)
        return self.condition_bandwidth

    def _setting(self, name: str) -> Any:
        value = super()._setting(name)
        return PRESETS[self.quality].get(name) if value is None else value

    def _prepare(self, *args: Any, **options: Any) -> Lot:
        self.__dict__.pop("folds_", None)  # of an earlier fit
        return super()._prepare(*args, **options)

    def _scaled(self, samples: Sequence[Sample], *, shuffled: bool = True) -> list[Rows]:
        lots = super()._scaled(samples, shuffled=shuffled)
        self.atoms_first_ = True
        self.atoms_ = find_atoms(samples[0].y) if self.atoms else np.empty((0, 3))
        self.spikes_ = self.atoms_[find_spikes(samples[0].y, self.atoms_)]
        self.shares_ = np.ones(1)
        self.folds_ = getattr(self, "folds_", float(self._setting("cross_fit")))
        train = samples[0]
        if (
            not (self._setting("neighbours") and shuffled and self.network == "mlp")
            or isinstance(train.x, Windows)
            or (train.groups is not None and len(np.unique(train.groups)) < 2)
            or not _NEIGHBOURS_FROM <= len(train.y) <= MOST_ROWS
        ):
            return lots
        inputs, target = self.input_scaler_, self.target_scaler_
        known = Neighbours.fit(inputs.transform(train.x), target.transform(train.y), train.groups)
        self.neighbours_, self.shares_ = known, np.array([0.5, 0.5])
        others = [known.of(inputs.transform(np.asarray(sample.x))) for sample in samples[1:]]
        return [
            rows.with_inputs(more)
            for rows, more in zip(lots, [known.among(), *others], strict=True)
        ]

    def _of_members(self, rows: Rows, parts: Sequence[NDArray[np.intp]]) -> MemberRows:
        if self.neighbours_ is None:
            return super()._of_members(rows, parts)
        # What a network learns from knows nothing of the rows that it will be judged on.
        lots = []
        for part in parts:
            taken = rows.take(torch.as_tensor(part, device=rows.y.device))
            plain = taken._replace(inputs=taken.x[:, : -Neighbours.n_features])
            lots.append(plain.with_inputs(self.neighbours_.among(part)))
        return MemberRows.join(lots, 1)

    def _inputs_of(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        scaled = super()._inputs_of(x)
        if self.neighbours_ is None:
            return scaled
        return np.column_stack([scaled, self.neighbours_.of(scaled)])

    def _n_inputs(self) -> int:
        more = 0 if self.neighbours_ is None else Neighbours.n_features
        return super()._n_inputs() + more

    def _look_ahead(self, models: Sequence[Self], lots: Sequence[Lot]) -> None:
        """Let one network each with and without embeddings, trained for a while, decide."""
        for model in models:
            model._sees_waves = True
        if self._setting("periodic") == "auto" and self.network == "mlp":
            choose_embeddings(models, lots)

    def _make_head(self) -> Head:
        spikes = len(getattr(self, "spikes_", ()))
        if spikes and self._setting("head") == "mixture":
            return MixtureHead(self.components, spikes)
        return super()._make_head()

    def _given(self) -> Tensor | None:
        if not len(self.spikes_) or self._setting("head") != "mixture":
            return None
        scaler = self.target_scaler_
        outputs = spike_outputs(self.spikes_, float(scaler.loc), float(scaler.scale))
        return torch.as_tensor(outputs, dtype=torch.float32)

    def _build(self, seeds: Sequence[int]) -> list[DistributionNetwork]:
        networks = super()._build(seeds)
        if not self._sees_waves:
            for network in networks:
                close_gates(network)
        if self._kinds() == 2:
            for network in networks[len(networks) // 2 :]:
                hide_inputs(network, slice(-Neighbours.n_features, None))
        return networks

    def _n_members(self) -> int:
        folds = int(getattr(self, "folds_", self._setting("cross_fit")))
        members: int = self._setting("members") * max(1, folds)
        return members * self._kinds()

    def _kinds(self) -> int:
        """Networks that see neighbours and networks that do not, or one kind alone."""
        return 1 if getattr(self, "neighbours_", None) is None else 2

    def _answer(self, outputs: Tensor) -> Distribution:
        if self.mc_passes or len(outputs) == 1:
            return super()._answer(outputs)
        weights = np.repeat(self.shares_, len(outputs) // len(self.shares_))
        used = weights > 0
        weights = weights[used] / weights.sum()
        return weighted_mixture(self._make_head(), outputs[torch.as_tensor(used)], weights)

    def _calibrated(self, dist: Distribution) -> Distribution:
        if not len(self.atoms_):
            return super()._calibrated(dist)
        if self.atoms_first_:
            return super()._calibrated(Snapped(dist, *self.atoms_.T))
        return Snapped(super()._calibrated(dist), *self.atoms_.T)

    @torch.no_grad()
    def _learn(self, train: Sample, held_out: Sample) -> None:
        if self._kinds() == 2:
            network, each = self._for_prediction(), self._n_members() // 2
            chunks = self._chunks(held_out.x, next(network.parameters()))
            outputs = torch.cat([network.outputs(x) for _, x in chunks], dim=1).cpu()
            few = [i for i in range(2 * each) if i % each < _FEW_NETWORKS]
            y = self.target_scaler_.transform(held_out.y)
            self._learn_shares(outputs[few], y, held_out.weight, each)
        if self.recalibrate:
            self._learn_map(held_out)

    def _folds(self, sample: Sample, seed: int) -> list[Fold]:
        count, n_rows, groups = self._setting("cross_fit"), len(sample.y), sample.groups
        if self._may_cross_fit() and n_rows < _FEW_ROWS:
            count = _FOLDS_OF_FEW
        if self.cross_fit is None and groups is not None:
            count = min(count, len(np.unique(groups)))
        if count < 2 or n_rows < _LEAST_ROWS * count:
            return []
        self.folds_ = float(count)
        # Dealt out anew for every member: networks that judge a row together must differ as much
        # as any others of the ensemble do, also in the rows that they saw.
        return [
            fold
            for repeat in range(self._setting("members"))
            for fold in cross_folds(n_rows, count, groups, seed + repeat)
        ]

    def _may_cross_fit(self) -> bool:
        """Whether the default may take several networks: not every module can be batched."""
        undecided = self.cross_fit is None and self.quality == "default"
        return undecided and isinstance(self.network, str) and not self.mc_passes

    @torch.no_grad()
    def _learn_from_folds(self, sample: Sample, rows: Rows, folds: list[Fold]) -> None:
        """Learn shares and map from networks that never saw the rows they are judged on."""
        kinds, repeats = self._kinds(), self._setting("members")
        head, y = self._make_head(), to_numpy(rows.y)
        outputs = torch.zeros(kinds * repeats, len(y), head.n_outputs, dtype=torch.float64)
        for i, (_, held_out) in enumerate(folds * kinds):
            network = self._for_prediction(slice(i, i + 1))
            like = next(network.parameters())
            for part in torch.as_tensor(held_out).split(self._rows_at_once(1)):
                # As they were trained on: not with themselves among their neighbours.
                inputs = rows.take(part.to(rows.y.device)).x.to(like)
                said = network.outputs(inputs)[0]
                outputs[i * repeats // len(folds), part] = said.cpu().double()
        each = len(folds)
        self._learn_shares(outputs, y, sample.weight, each)
        if self.recalibrate:
            scaler, places = self.target_scaler_, self._places(sample.y)
            levels = np.empty((len(places), kinds * repeats, len(y)))
            for i, said in enumerate(outputs):
                dist = head.distribution(said).affine(float(scaler.loc), float(scaler.scale))
                levels[:, i] = [dist.cdf(place) for place in places]
            levels = levels.reshape(-1, kinds, repeats, len(y)).transpose(0, 3, 1, 2)
            factor = narrowing(levels[0], self.shares_, each)
            self._fit_map([as_of_all(level, self.shares_, factor) for level in levels], sample)

    def _learn_map(self, held_out: Sample) -> None:
        if not len(self.atoms_):
            super()._learn_map(held_out)
        elif len(held_out.y) >= LEAST_HELD_OUT:
            dist = self._raw_distribution(held_out.x)
            self._fit_map([dist.cdf(place) for place in self._places(held_out.y)], held_out)

    def _places(self, y: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        """Where the map asks for distribution functions: targets, and the ends of their atoms."""
        return [y, *cells_of(y, self.atoms_)] if len(self.atoms_) else [y]

    def _fit_map(self, levels: list[NDArray[np.float64]], sample: Sample) -> None:
        """Learn the map from distribution functions at the `_places` of rows not learned from."""
        if len(self.atoms_):
            at, low, high = levels
            self.monotone_, self.atoms_first_ = fit_map_and_order(at, low, high, sample.weight)
        else:
            self.monotone_ = fit_pit_map(levels[0], sample.weight)

    def _learn_shares(
        self, outputs: Tensor, y: NDArray[np.float64], weight: NDArray[np.float64], each: int
    ) -> None:
        """Learn how much the two kinds count, from networks that did not see these rows.

        Parameters
        ----------
        outputs : tensor of shape (networks, n, n_outputs)
            Those that see neighbours first.
        each : int
            Networks of a kind in the end.
        """
        if self.neighbours_ is None:
            return
        share = best_share(
            pool_crps(self._make_head(), outputs, y, weight), len(outputs) // 2, each
        )
        self.shares_ = np.array([share, 1.0 - share])
        self.neighbours_.forget_nearest()

    def _check_parameters(self) -> None:
        if self.quality not in PRESETS:
            raise ParameterError(
                f"quality must be one of {', '.join(PRESETS)}, got {self.quality!r}."
            )
        super()._check_parameters()
        epochs, patience, lr = (
            self._setting(f"matching_{name}") for name in ("epochs", "patience", "lr")
        )
        if epochs < 1 or patience < 1 or not lr > 0:
            raise ParameterError(
                "matching_epochs and matching_patience must be at least 1 and matching_lr > 0, got "
                f"{epochs}, {patience} and {lr}."
            )
        members, folds = self._setting("members"), self._setting("cross_fit")
        if members < 1 or folds < 0 or folds == 1:
            raise ParameterError(
                "members must be at least 1 and cross_fit 0 or a number of folds from 2, got "
                f"{members} and {folds}."
            )
        if self._setting("match") == "rows" and self.anchor == 0:
            raise ParameterError('match="rows" is the kernel score alone: anchor must be above 0.')
        if self.anchor < 0:
            raise ParameterError(f"anchor must be >= 0, got {self.anchor}.")
        if self.anchor_kernel not in ("energy", "gaussian"):
            raise ParameterError(
                f'anchor_kernel must be "energy" or "gaussian", got {self.anchor_kernel!r}.'
            )
        if self.updates not in ("all", "head"):
            raise ParameterError(f'updates must be "all" or "head", got {self.updates!r}.')
