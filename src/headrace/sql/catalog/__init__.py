"""Catalogs: what the names of tables, views and functions stand for.

A catalog has databases, a database has tables, views and functions. ``CatalogManager`` holds the
catalogs of a session, what is current, and the temporary objects, which hide others of their name.
"""
