"""Stateful workloads on Nomad: the driver's permissions, volumes, CSI plugins, registrations, the MySQL server."""

from nomad_stateful.program.launch import launch

launch()
