"""What this stack is: its settings, what is checked before it is deployed, and the story that deploys it."""
