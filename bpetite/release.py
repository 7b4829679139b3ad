"""The release."""

__version__ = "0.9.0"
