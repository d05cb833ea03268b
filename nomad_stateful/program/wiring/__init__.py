"""From settings to the inputs of each component, where names or meaning change."""
