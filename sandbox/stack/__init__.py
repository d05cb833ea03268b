"""The stack in the sandbox: its environment, its plugins, and the engine that runs it."""
