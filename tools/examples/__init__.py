"""Each stack of `examples/`, brought up in the sandbox, checked across a purge and a move, and destroyed."""
