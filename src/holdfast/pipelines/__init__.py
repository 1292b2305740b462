"""The kinds of jobs. Each is a folder of its own and a stranger to the others; none knows the engine."""
