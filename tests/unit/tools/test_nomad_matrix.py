"""A version of Nomad that cannot be had is left out of the matrix by name, but not in CI."""

import pytest

from tests import nomad_matrix
from tools.toolchain.errors import UnreachableError
from tools.toolchain.provide import NOMAD_VARIABLE, Toolchain


@pytest.mark.parametrize(("ci", "status", "said"), [("", 0, "left out"), ("true", 1, "FAILED")])
def test_a_version_that_cannot_be_had_is_left_out_by_name_and_fails_in_ci(
    ci: str, status: int, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def unreachable() -> Toolchain:
        raise UnreachableError("https://releases.example", "no route", "it must be reachable", "Check the network")

    monkeypatch.setattr(nomad_matrix, "ensure", unreachable)
    monkeypatch.setenv(NOMAD_VARIABLE, "")
    monkeypatch.delenv("CI", raising=False)
    if ci:
        monkeypatch.setenv("CI", ci)
    assert nomad_matrix.main(["2.0.5"]) == status
    line = capsys.readouterr().out.strip()
    assert line.startswith(said)
    assert line.endswith("2.0.5 cannot be had here: no route")
