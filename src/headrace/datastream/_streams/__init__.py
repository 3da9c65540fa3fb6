"""Streams of the API that are neither plain nor keyed; ``data_stream`` gives them out."""
