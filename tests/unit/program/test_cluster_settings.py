"""The plugins nomad and nomad-csi have to mean the same cluster."""

from collections.abc import Callable, Iterator

import pytest
from pulumi.runtime import config as pulumi_config

from nomad_stateful.program.settings import cluster


@pytest.fixture
def configured(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., str]]:
    """What is said of a stack's file with these keys, and the environment's NOMAD_ADDR."""
    for variable in filter(None, cluster.KEYS.values()):
        monkeypatch.delenv(variable, raising=False)
    before = pulumi_config.CONFIG.get()

    def said(config: dict[str, str], **environ: str) -> str:
        for name, value in environ.items():
            monkeypatch.setenv(name, value)
        pulumi_config.CONFIG.set(config)
        return "\n".join(map(str, cluster.mismatches()))

    yield said
    pulumi_config.CONFIG.set(before)


def test_neither_or_both_alike_is_fine(configured: Callable[..., str]) -> None:
    assert configured({}) == ""
    assert configured({"nomad:address": "https://a:1", "nomad-csi:address": "https://a:1"}) == ""
    assert configured({"nomad:address": "https://a:1"}, NOMAD_ADDR="https://a:1") == ""


@pytest.mark.parametrize(("named", "other"), [("nomad", "nomad-csi"), ("nomad-csi", "nomad")])
def test_an_address_of_one_plugin_alone_is_refused(configured: Callable[..., str], named: str, other: str) -> None:
    said = configured({f"{named}:address": "https://a:1"}, NOMAD_ADDR="https://b:1")
    assert said.startswith(f"{named}:address is https://a:1: the plugin {other} is configured with another value")
    assert f"Set {other}:address alike, or remove both and set NOMAD_ADDR." in said


def test_a_password_in_an_address_is_not_shown(configured: Callable[..., str]) -> None:
    assert "nomad:address is https://a:1: " in configured({"nomad:address": "https://root:pw@a:1"})


def test_a_secret_that_differs_is_not_shown(configured: Callable[..., str]) -> None:
    said = configured({"nomad:secretId": "t0ken", "nomad:keyPem": "k3y", "nomad-csi:secretId": "0ther"})
    assert "nomad:secretId is a value that is not shown" in said
    assert "nomad:keyPem is a value that is not shown" in said
    assert not any(secret in said for secret in ("t0ken", "k3y", "0ther"))
