"""Jobs of kinds that others wrote: what holdfast.plugin says to a pipeline, said to the engine."""
