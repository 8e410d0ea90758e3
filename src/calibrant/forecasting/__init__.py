"""Forecasts over windows of series, back-testing, and calibration that follows time."""

from calibrant.forecasting._backtest import Backtest, Forecasts
from calibrant.forecasting._report import SeriesReport
from calibrant.forecasting.backtesting import backtest
from calibrant.forecasting.forecaster import Forecaster

__all__ = ["Backtest", "Forecaster", "Forecasts", "SeriesReport", "backtest"]
