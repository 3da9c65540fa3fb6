"""The exceptions of ``pyflink.util``."""
