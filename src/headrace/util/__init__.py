"""What PyFlink has in ``pyflink.util`` and programs use: the exceptions."""
