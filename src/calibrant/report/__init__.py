"""The interactive report of one or several forecasts, as one HTML file that works offline."""

from calibrant.report.report import Report, build_report, write_report

__all__ = ["Report", "build_report", "write_report"]
