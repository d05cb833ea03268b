"""The one Nomad of tests that need none of its scheduling."""

from tests.fake_nomad.nomad import FakeNomad, fake_nomad

__all__ = ["FakeNomad", "fake_nomad"]
