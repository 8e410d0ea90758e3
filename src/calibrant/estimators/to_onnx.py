"""Fitted models as ONNX files, for runtimes without Python."""

from __future__ import annotations

import json
import logging
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from calibrant.checks import check_levels
from calibrant.errors import MissingDependencyError
from calibrant.estimators.torch_encoder import TorchEncoder
from calibrant.estimators.torch_predictor import Summary, TorchPredictor
from calibrant.persistence import check_file_free, write_file

if TYPE_CHECKING:
    from calibrant.estimators.base import NetworkRegressor

_INPUTS, _OUTPUTS = ("features", "codes"), ("mean", "stddev", "quantiles")
_OPSET, _ML_OPSET = 18, 3
_EXAMPLE_ROWS = 3  # not 1, which torch would take for a constant


class ExportedModel(nn.Module):
    """From raw features to mean, spread and quantiles: the encoder and the predictor."""

    def __init__(self, encoder: TorchEncoder | None, predictor: TorchPredictor) -> None:
        super().__init__()
        self.encoder, self.predictor = encoder, predictor

    def forward(self, features: Tensor, codes: Tensor | None = None) -> Summary:
        """Summary of n rows."""
        x = features if self.encoder is None else self.encoder(features, codes)
        result: Summary = self.predictor(x)
        return result


def write_onnx(
    model: NetworkRegressor,
    path: str | os.PathLike[str],
    levels: ArrayLike,
    *,
    encoded: bool = False,
    overwrite: bool = False,
) -> None:
    """Write a fitted estimator as an ONNX file; see `NetworkRegressor.to_onnx`."""
    check_file_free(path, overwrite=overwrite)
    chosen = np.atleast_1d(check_levels(levels, "levels"))
    predictor = TorchPredictor(model.predictor_, chosen.tolist())
    encoder = None
    if model.encoder_ is not None and not encoded:
        encoder = TorchEncoder(model.encoder_)
    proto = _exported(ExportedModel(encoder, predictor).eval(), model.n_steps_)
    if encoder is not None and encoder.categories:
        _read_texts(proto, list(encoder.categories.values()))
    about = {
        "levels": chosen.tolist(),
        "target": model.target_name_,
        "numbers": None if encoder is None else encoder.numbers,
        "categories": {} if encoder is None else encoder.categories,
    }
    for key, value in about.items():
        proto.metadata_props.add(key=key, value=json.dumps(value))
    write_file(path, proto.SerializeToString(), overwrite=overwrite)


def _exported(module: ExportedModel, steps: int | None) -> Any:
    """The module as an ONNX model with any number of rows."""
    width = len(module.predictor.loc)
    rows = _EXAMPLE_ROWS
    if module.encoder is not None:
        example: tuple[Tensor, ...] = (_zeros(rows, len(module.encoder.numbers)),)
        if module.encoder.categories:
            codes = torch.zeros(rows, len(module.encoder.categories), dtype=torch.int64)
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
            if value.name in _OUTPUTS:
                value.name = f"{value.name}_inside"
    for output, name in zip(graph.outputs, _OUTPUTS, strict=True):
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
