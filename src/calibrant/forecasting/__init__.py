"""Forecasts over windows of series, back-testing, and calibration that adapts over time."""

from calibrant.forecasting._backtest import Backtest, Forecasts
from calibrant.forecasting._report import SeriesReport
from calibrant.forecasting.backtesting import backtest
from calibrant.forecasting.forecaster import Forecaster
from calibrant.forecasting.global_network import GlobalNetwork
from calibrant.forecasting.series_frame import SeriesFrame

__all__ = [
    "Backtest",
    "Forecaster",
    "Forecasts",
    "GlobalNetwork",
    "SeriesFrame",
    "SeriesReport",
    "backtest",
]
