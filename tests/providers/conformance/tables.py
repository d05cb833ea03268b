"""All types and functions that are asked."""

from __future__ import annotations

from . import aws_subjects, nomad_csi_subjects, nomad_subjects

_TABLES = (aws_subjects, nomad_subjects, nomad_csi_subjects)
TYPES = tuple(subject for table in _TABLES for subject in table.TYPES)
FUNCTIONS = tuple(subject for table in _TABLES for subject in table.FUNCTIONS)
