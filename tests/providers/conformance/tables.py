"""All types and functions that are asked, the official plugin's among them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

from tests.providers.conformance import aws_subjects, nomad_csi_subjects, nomad_subjects
from tests.providers.conformance.subjects import FunctionSubject, TypeSubject
from tests.providers.conformance.worlds import implementations

Asked = TypeVar("Asked", TypeSubject, FunctionSubject)


def _of_each(subjects: Iterable[Asked]) -> Iterable[Asked]:
    """Returns the subjects of a plugin once for each implementation that is asked."""
    return [
        replace(subject, implementation=implementation) for implementation in implementations() for subject in subjects
    ]


TYPES = (*aws_subjects.TYPES, *_of_each(nomad_subjects.TYPES), *nomad_csi_subjects.TYPES)
FUNCTIONS = (*aws_subjects.FUNCTIONS, *_of_each(nomad_subjects.FUNCTIONS), *nomad_csi_subjects.FUNCTIONS)
