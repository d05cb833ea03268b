"""What the documents of the four storage systems mention can be said in the configuration."""
