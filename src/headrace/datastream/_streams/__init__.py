"""The stream classes of the API, one file per kind of stream."""
