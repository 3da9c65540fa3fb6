"""The flagship job: three trading systems' messages become linked order hierarchies."""

from headrace.demo.trades.run import main

__all__ = ["main"]
