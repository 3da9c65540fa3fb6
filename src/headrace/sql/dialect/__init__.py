"""The grammar of Flink's SQL.

Queries and expressions become trees of sqlglot's nodes (and those of ``nodes``), which nothing
but the resolver and the converter of expressions reads. The grammar itself is ours: sqlglot's
accepts more than Flink does, and gives some of it another meaning. Types and statements need no
sqlglot; the modules that do are imported when a statement is read.
"""
