"""The connectors of databases, each against a real server."""
