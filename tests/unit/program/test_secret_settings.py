"""Settings that are secrets: none ends up in a job or in the state, and no message shows one."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pulumi
import pytest
import yaml
from pulumi.runtime import config as pulumi_config

from nomad_stateful.program import settings
from nomad_stateful.program.settings import stack_config
from tests.certificates import CERTIFICATE

PREFIX = "nomad-stateful:"
SECRET = "hunter2-whispered"
KEY = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\n-----END PRIVATE KEY-----\n"
VOLUME: dict[str, Any] = {"name": "data", "zone": "us-west-2a", "sizeGib": 10}
PROGRAM: dict[str, Any] = {"name": "app", "image": "app:1", "mounts": [{"volume": "data", "path": "/data"}]}
CONFIG: dict[str, Any] = {
    "clientRole": "nomad-client",
    "plugins": [{"id": "aws-ebs0"}],
    "volumes": [VOLUME, {**VOLUME, "name": "mysql"}],
    "mysql": {"volume": "mysql"},
    "consumers": [PROGRAM],
}
Load = Callable[[dict[str, Any]], str]


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Load]:
    """Loads a configuration as the engine hands it over; `{"secure": TEXT}` is a value that was set as a secret."""
    before = dict(pulumi_config.CONFIG.get())
    monkeypatch.chdir(tmp_path)

    def loaded(config: dict[str, Any], *, file: bool = True) -> str:
        secret = [f"{PREFIX}{key}" for key, value in config.items() if '"secure"' in json.dumps(value)]
        plain = {f"{PREFIX}{key}": _plain(value) for key, value in config.items()}
        texts = {key: value if isinstance(value, str) else json.dumps(value) for key, value in plain.items()}
        pulumi_config.set_all_config(texts, secret)
        if file:
            stored = {"config": {f"{PREFIX}{key}": value for key, value in config.items()}}
            Path(f"Pulumi.{pulumi.get_stack()}.yaml").write_text(yaml.safe_dump(stored))
        try:
            stack_config.load()
        except settings.SettingsError as error:
            return str(error)
        return ""

    yield loaded
    pulumi_config.set_all_config(before, [])


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return value["secure"] if list(value) == ["secure"] else {key: _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list) else value


def with_(path: str, value: Any) -> dict[str, Any]:
    """CONFIG with a value at a path such as consumers.0.env."""
    changed = json.loads(json.dumps(CONFIG))
    *parts, last = path.split(".")
    at = changed
    for part in parts:
        at = at[int(part)] if isinstance(at, list) else at.setdefault(part, {})
    at[last] = value
    return dict(changed)


SECURE = {"secure": SECRET}
MISPLACED = {
    "consumers.app.env.PASSWORD": ("consumers.0.env", {"PASSWORD": SECURE}, "the consumer's secrets"),
    "consumers.app.args.1": ("consumers.0.args", ["--password", SECURE], "the consumer's secrets"),
    "consumers.app.files.0.text": (
        "consumers.0.files",
        [{"destination": "local/x", "text": SECURE}],
        "the consumer's secrets",
    ),
    "mysql.initScripts.10-app": ("mysql.initScripts", {"10-app.sql": SECURE}, "a Nomad variable"),
    "mysql.config.init_connect": ("mysql.config", {"init_connect": SECURE}, "without --secret"),
    "plugins.aws-ebs0.env.AWS_SECRET_ACCESS_KEY": ("plugins.0.env", {"AWS_SECRET_ACCESS_KEY": SECURE}, "clients' role"),
    "volumes.data.parameters.x": ("volumes.0.parameters", {"x": SECURE}, "the volume's secrets"),
    "clientRole": ("clientRole", SECURE, "without --secret"),
}


@pytest.mark.parametrize("key", MISPLACED)
def test_a_secret_that_would_stand_in_clear_is_refused_by_its_key(load: Load, key: str) -> None:
    path, value, remedy = MISPLACED[key]
    said = load(with_(path, value))
    assert f"{key}" in said
    assert "is a secret: it was set as a secret, and would stand in clear" in said
    assert remedy in said
    assert SECRET not in said


def test_one_is_refused_beside_another_that_is_in_its_place(load: Load) -> None:
    config = with_("consumers.0.secrets", {"token": SECURE})
    config["consumers"][0]["env"] = {"TOKEN": SECURE}
    said = load(config)
    assert said.startswith("1 setting refused")
    assert "consumers.app.env.TOKEN is a secret" in said


ALLOWED = {
    "a consumer's": ("consumers.0.secrets", {"token": SECURE}),
    "a volume's": ("volumes.0.secrets", {"token": SECURE}),
    "the certificate's key": ("mysql.tlsCertificate", {"certificate": CERTIFICATE, "key": SECURE}),
    "all of the certificate": (
        "mysql.tlsCertificate",
        {"certificate": {"secure": CERTIFICATE}, "key": SECURE, "ca": {"secure": CERTIFICATE}},
    ),
}


@pytest.mark.parametrize("file", [True, False], ids=["in the stack's file", "from elsewhere"])
@pytest.mark.parametrize("name", ALLOWED)
def test_a_secret_in_its_place_is_taken(load: Any, name: str, file: bool) -> None:
    assert load(with_(*ALLOWED[name]), file=file) == ""


@pytest.mark.parametrize("key", ["consumers.0.env", "plugins.0.env"])
def test_one_from_elsewhere_is_refused_by_its_whole_key_where_nothing_there_keeps_secrets(load: Any, key: str) -> None:
    said = load(with_(key, {"PASSWORD": SECURE}), file=False)
    assert f"{key.partition('.')[0]} is a secret: it was set as a secret" in said
    assert SECRET not in said


def test_text_in_the_place_of_a_structure_is_refused_without_being_shown(load: Load) -> None:
    said = load({**CONFIG, "mysql": SECRET})
    assert "mysql is a value that is not shown: must be a value in JSON" in said
    assert SECRET not in said


WRONG = {
    "a key for the certificate": ("mysql.tlsCertificate", {"certificate": KEY, "key": CERTIFICATE}),
    "a key for both": ("mysql.tlsCertificate", KEY),
    "a text for the certificate": ("mysql.tlsCertificate", SECRET),
    "a misspelled setting": ("consumers.0.password", SECRET),
    "a misspelled number": ("consumers.0.password", 918273645),
    "a number in env": ("consumers.0.env", {"PASSWORD": 918273645}),
    "a number in args": ("consumers.0.args", [918273645]),
    "a number for a script": ("mysql.initScripts", {"1.sql": 918273645}),
    "a text for secrets": ("consumers.0.secrets", SECRET),
    "a text for a consumer": ("consumers", [SECRET]),
    "half a character in env": ("consumers.0.env", {"PASSWORD": f"{SECRET}\ud800"}),
    "half a character in a driver's configuration": ("plugins.0.config", f"{SECRET}\ud800"),
    "half a character in a key": ("mysql.tlsCertificate", {"certificate": CERTIFICATE, "key": f"{SECRET}\ud800"}),
    "a null character in a script": ("mysql.initScripts", {"1.sql": f"{SECRET}\0"}),
}


@pytest.mark.parametrize("name", WRONG)
def test_no_refusal_shows_what_may_be_a_secret(name: str) -> None:
    with pytest.raises(settings.SettingsError) as refused:
        settings.parse(with_(*WRONG[name]))
    said = str(refused.value)
    assert not [one for one in (SECRET, "MIIEvQ", "918273645", "BEGIN PRIVATE") if one in said], said


def test_of_other_settings_the_value_is_shown() -> None:
    with pytest.raises(settings.SettingsError, match=r"consumers.app.count is 2.5: must be a whole number"):
        settings.parse(with_("consumers.0.count", 2.5))


def test_a_text_of_its_own_is_taken_as_the_engine_hands_it_over(load: Load) -> None:
    assert load({**CONFIG, "agentImage": "registry.example:5000/agent:1.0"}) == ""
    assert "agentImage is agent:latest: must be pinned" in load({**CONFIG, "agentImage": "agent:latest"})
