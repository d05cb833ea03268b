"""An address or a token that no request can have is a message, and neither a secret in one nor a traceback."""

import pytest

from nomad_stateful.nomad.api import NomadApi, NomadError, NomadUnreachable
from nomad_stateful.waiting import RetryPolicy
from tests.fake_nomad import FakeNomad

SECRET = "3f1c9d2e"


@pytest.mark.parametrize("token", [f"{SECRET}\n", f"{SECRET}\r\n", f" {SECRET}", f"{SECRET}\n{SECRET}", f"{SECRET}é"])
@pytest.mark.parametrize("variable", ["NOMAD_TOKEN", "NOMAD_OPERATOR_TOKEN", ""])
def test_a_token_that_is_none_is_refused_by_its_origin_and_not_shown(
    monkeypatch: pytest.MonkeyPatch, token: str, variable: str
) -> None:
    for name in ("NOMAD_TOKEN", "NOMAD_OPERATOR_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    if variable:
        monkeypatch.setenv(variable, token)
    with pytest.raises(NomadError) as refused:
        NomadApi.from_env({"address": "http://127.0.0.1:1", "token": token})
    assert str(refused.value).startswith(f"{variable or 'secretId (or --token-file)'} is a value that is not shown: ")
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize(
    "address",
    [
        "http://[::1",
        "localhost:4646",
        "http://:4646",
        "http://host:99999",
        "http://host:4646\n",
        "http://ho st:4646",
        f"http://root:{SECRET}/x@host:4646",
        f"root:{SECRET}@host",
    ],
)
def test_an_address_that_is_no_url_is_refused_without_its_password(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("NOMAD_ADDR", address)
    with pytest.raises(NomadError, match=r"^address \(NOMAD_ADDR\) is '.*': it has to be http://HOST:PORT") as refused:
        NomadApi.from_env()
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize("address", ["https://[::1]:4646/", "http://nomad", "unix:///secrets/api.sock"])
def test_other_addresses_are_taken(address: str) -> None:
    NomadApi(address, "t0ken").close()


def test_a_password_in_the_address_is_sent_and_not_shown(nomad: FakeNomad) -> None:
    api = NomadApi(nomad.address.replace("//", f"//root:{SECRET}@"), retry=RetryPolicy(1))
    assert api.get("jobs") == []
    assert nomad.requests[-1].headers["Authorization"].startswith("Basic ")
    assert api.address == nomad.address
    api.close()
    gone = NomadApi(f"http://root:{SECRET}@127.0.0.1:1")
    with pytest.raises(NomadUnreachable, match=r"Nomad at http://127.0.0.1:1: ") as failed:
        gone.get("jobs")
    assert SECRET not in str(failed.value)
    gone.close()
