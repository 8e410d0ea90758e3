"""The page that compares stored results with the paper's figures and claims."""

from .page import page_figures, reproduction_page
from .summary import summary

__all__ = ["page_figures", "reproduction_page", "summary"]
