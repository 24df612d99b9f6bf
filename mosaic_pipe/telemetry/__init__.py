"""Events: schema, reading, folding into a summary."""
