"""The plugin nomad-csi, as Pulumi's Python host starts it."""

from nomad_stateful.provider.__main__ import run

run()
