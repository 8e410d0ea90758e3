"""Predict and evaluate tables that are larger than memory, part by part."""

from calibrant.streaming.evaluate import evaluate_source
from calibrant.streaming.inputs import Inputs
from calibrant.streaming.predict import predict_parquet

__all__ = ["Inputs", "evaluate_source", "predict_parquet"]
