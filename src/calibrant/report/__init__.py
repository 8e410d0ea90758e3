"""Interactive reports of forecasts, each as one HTML file that works offline."""

from calibrant.report.fan import Fan
from calibrant.report.report import Report, build_report, write_report
from calibrant.report.series_report import build_series_report

__all__ = ["Fan", "Report", "build_report", "build_series_report", "write_report"]
