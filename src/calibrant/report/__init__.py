"""The interactive report of one or several forecasts: one HTML file that needs no network."""

from calibrant.report.report import Report, build_report, check_free, write_report

__all__ = ["Report", "build_report", "check_free", "write_report"]
