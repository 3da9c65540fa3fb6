"""Writing topics, within transactions where that is asked for."""
