"""The whole of a stack on one screen: zones, clients, plugins, volumes, consumers, and what is wrong."""
