"""How functions of users are computed over columns."""
