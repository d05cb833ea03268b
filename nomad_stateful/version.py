"""The version of everything in here: the library, the plugin, the package of components, and the policy pack."""

VERSION = "0.3.0"
