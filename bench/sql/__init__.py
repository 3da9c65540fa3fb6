"""The benchmarks of SQL: statements, and the program that runs them with Flink and Headrace."""
