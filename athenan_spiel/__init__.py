"""Athénan for OpenSpiel."""

__version__ = "0.1.0"
