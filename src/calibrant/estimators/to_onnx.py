"""Fitted models as ONNX files, for runtimes without Python."""

from __future__ import annotations

import json
import logging
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from calibrant.checks import Array, check_levels
from calibrant.errors import MissingDependencyError, ParameterError
from calibrant.estimators.base import NetworkRegressor
from calibrant.estimators.torch_encoder import TorchEncoder
from calibrant.estimators.torch_predictor import register_constants
from calibrant.estimators.torch_recalibration import torch_model
from calibrant.estimators.torch_summary import MappedMixture, Summary
from calibrant.persistence import check_file_free, write_file
from calibrant.recalibration import Recalibrator

_INPUTS, _OUTPUTS = ("features", "codes"), ("mean", "stddev", "quantiles")
_OPSET, _ML_OPSET = 18, 3
_EXAMPLE_ROWS = 3  # not 1, which torch would take for a constant


class ExportedModel(nn.Module):
    """From raw features to mean, spread and quantiles.

    Parameters
    ----------
    encoder : TorchEncoder or None
    model : nn.Module
        From encoded rows to a `MappedMixture`.
    levels : array of shape (L,)
    """

    levels: Tensor

    def __init__(self, encoder: TorchEncoder | None, model: nn.Module, levels: Array) -> None:
        super().__init__()
        self.encoder, self.model = encoder, model
        register_constants(self, levels=levels)

    def forward(self, features: Tensor, codes: Tensor | None = None) -> Summary:
        """Summary of n rows."""
        x = features if self.encoder is None else self.encoder(features, codes)
        dist: MappedMixture = self.model(x)
        return dist.summary(self.levels)


class ExportedOutputs(nn.Module):
    """Summaries of several outputs, from the same features."""

    def __init__(self, outputs: Sequence[ExportedModel]) -> None:
        super().__init__()
        self.outputs = nn.ModuleList(outputs)

    def forward(self, features: Tensor, codes: Tensor | None = None) -> tuple[Tensor, ...]:
        """Mean, spread and quantiles of one output after the other."""
        return tuple(part for output in self.outputs for part in output(features, codes))


def write_onnx(
    models: Mapping[str, Any],
    path: str | os.PathLike[str],
    levels: ArrayLike,
    *,
    about: Mapping[str, Any],
    encoded: bool = False,
    overwrite: bool = False,
) -> None:
    """Write fitted models of one table as one ONNX file; see `NetworkRegressor.to_onnx`.

    Parameters
    ----------
    models : mapping of str to NetworkRegressor or recalibrator around one
        By the name of the output, which may be empty: with it begin the names in the graph.
    path : path
    levels : sequence of float
    about : mapping of str to JSON values
        More metadata.
    encoded, overwrite : bool
    """
    check_file_free(path, overwrite=overwrite)
    chosen = np.atleast_1d(check_levels(levels, "levels"))
    parts = [
        ExportedModel(_encoder(model, encoded=encoded), torch_model(model), chosen)
        for model in models.values()
    ]
    _check_same_columns(list(models), [part.encoder for part in parts])
    network, encoder = estimator_of(next(iter(models.values()))), parts[0].encoder
    names = [f"{output}_{name}".strip("_") for output in models for name in _OUTPUTS]
    width = len(network.predictor_.features.scaler.loc)
    proto = _exported(ExportedOutputs(parts).eval(), names, encoder, network.n_steps_, width)
    if encoder is not None and encoder.categories:
        _read_texts(proto, list(encoder.categories.values()))
    metadata = {
        "levels": chosen.tolist(),
        "numbers": None if encoder is None else encoder.numbers,
        "categories": {} if encoder is None else encoder.categories,
        **about,
    }
    for key, value in metadata.items():
        proto.metadata_props.add(key=key, value=json.dumps(value))
    write_file(path, proto.SerializeToString(), overwrite=overwrite)


def estimator_of(model: Any) -> NetworkRegressor:
    """Return the estimator inside recalibrators."""
    while isinstance(model, Recalibrator):
        model = model.model_
    network: NetworkRegressor = model
    return network


def _encoder(model: Any, *, encoded: bool) -> TorchEncoder | None:
    known = estimator_of(model).encoder_
    return None if known is None or encoded else TorchEncoder(known)


def _check_same_columns(names: Sequence[str], encoders: Sequence[TorchEncoder | None]) -> None:
    """Check that all outputs read a table alike: codes of one may be numbers for another."""
    columns = [None if each is None else (each.numbers, each.categories) for each in encoders]
    for name, own in zip(names, columns, strict=True):
        if own != columns[0]:
            raise ParameterError(
                f"The models of {names[0]!r} and {name!r} do not read the same columns as numbers "
                "and as categories, so one graph can't serve both. Export each of model.models_."
            )


def _exported(
    module: ExportedOutputs,
    output_names: Sequence[str],
    encoder: TorchEncoder | None,
    steps: int | None,
    width: int,
) -> Any:
    """The module as an ONNX model with any number of rows."""
    rows = _EXAMPLE_ROWS
    if encoder is not None:
        example: tuple[Tensor, ...] = (_zeros(rows, len(encoder.numbers)),)
        if encoder.categories:
            codes = torch.zeros(rows, len(encoder.categories), dtype=torch.int64)
            example = (*example, codes)
    else:
        example = (_zeros(rows, width) if steps is None else _zeros(rows, steps, width),)
    names = _INPUTS[: len(example)]
    any_rows = torch.export.Dim("rows")
    try:
        with _quiet(), torch.no_grad():
            program: Any = torch.onnx.export(
                module,
                example,
                dynamo=True,
                input_names=names,
                dynamic_shapes={name: {0: any_rows} for name in names},
                opset_version=_OPSET,
                external_data=False,
                verbose=False,
            )
    except ImportError as cause:
        raise MissingDependencyError(
            "to_onnx needs onnx and onnxscript: pip install 'calibrant[onnx]'."
        ) from cause
    graph = program.model.graph
    for node in graph:  # torch names values after its operations, one of which is "mean"
        for value in node.outputs:
            if value.name in output_names:
                value.name = f"{value.name}_inside"
    for output, name in zip(graph.outputs, output_names, strict=True):
        output.name = name
    return program.model_proto


def _zeros(*shape: int) -> Tensor:
    return torch.zeros(shape, dtype=torch.float64)


def _read_texts(proto: Any, categories: Sequence[tuple[str, ...]]) -> None:
    """Replace the input of codes, (n, q), by one of texts."""
    from onnx import TensorProto, helper

    graph = proto.graph
    made = []
    for j, each in enumerate(categories):
        made += [
            helper.make_node(
                "Constant", [], [f"column{j}"], value_ints=[j], name=f"choose_column{j}"
            ),
            helper.make_node("Gather", ["texts", f"column{j}"], [f"texts{j}"], axis=1),
            helper.make_node(
                "LabelEncoder",
                [f"texts{j}"],
                [f"codes{j}"],
                domain="ai.onnx.ml",
                keys_strings=list(each),
                values_int64s=list(range(len(each))),
                default_int64=len(each),
            ),
        ]
    parts = [f"codes{j}" for j in range(len(categories))]
    made.append(helper.make_node("Concat", parts, ["codes"], axis=1))
    shape: list[str | int | None] = ["rows", len(categories)]
    texts = helper.make_tensor_value_info("texts", TensorProto.STRING, shape)
    inputs = [each for each in graph.input if each.name != "codes"]
    nodes = [*made, *graph.node]
    graph.ClearField("input")
    graph.input.extend([*inputs, texts])
    graph.ClearField("node")
    graph.node.extend(nodes)
    proto.opset_import.append(helper.make_opsetid("ai.onnx.ml", _ML_OPSET))


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress torch's own messages about optional packages and deprecated names."""
    logger = logging.getLogger("torch.onnx")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(before)
