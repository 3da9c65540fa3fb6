"""The main demo: messages of three trading systems are linked to order hierarchies."""

from headrace.demo.trades.run import main

__all__ = ["main"]
