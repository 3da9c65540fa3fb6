"""Calls to what is outside of Headrace: libraries, addresses, answers, outages."""
