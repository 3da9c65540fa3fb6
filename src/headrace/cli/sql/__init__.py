"""``headrace sql``: a shell for statements, and a runner of files with them."""
