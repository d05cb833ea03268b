"""The provider's configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fake_nomad import fake_nomad
from tests.providers.harness import Failed, plugin_process

pytestmark = pytest.mark.nomad

GET_PLUGINS = "nomad:index/getPlugins:getPlugins"


def test_an_address_is_required(executable: Path) -> None:
    with plugin_process(executable, {}) as plugin:
        assert "missing a required configuration key: nomad:address" in plugin.check_config({}).reasons


def test_what_this_plugin_cannot_do_is_refused_by_name(executable: Path) -> None:
    with plugin_process(executable, {"NOMAD_ADDR": "http://127.0.0.1:1"}) as plugin:
        assert "nomad:authJwt is not implemented" in plugin.check_config({"authJwt": '{"jwt": "x"}'}).reasons
        assert "nomad:colour is not a configuration key" in plugin.check_config({"colour": "red"}).reasons
        assert "must begin with http:// or https://" in plugin.check_config({"address": "10.0.0.1:4646"}).reasons
        assert not plugin.check_config({"version": "2.6.1"}).failures


def test_the_environment_stands_in_for_what_is_not_configured(executable: Path) -> None:
    with fake_nomad() as server:
        env = {"NOMAD_ADDR": server.address, "NOMAD_TOKEN": "from-env", "NOMAD_REGION": "mars", "NOMAD_NAMESPACE": "x"}
        with plugin_process(executable, env) as plugin:
            plugin.configure({"headers": '[{"name": "X-Extra", "value": "1"}]'})
            plugin.invoke(GET_PLUGINS)
        asked = server.requests[-1]
        assert (asked.headers["X-Nomad-Token"], asked.headers["X-Extra"]) == ("from-env", "1")
        assert asked.query["region"] == "mars"
        assert "namespace" not in asked.query
        with plugin_process(executable, env) as plugin:
            plugin.configure({"ignoreEnvVars": '{"NOMAD_TOKEN": true, "NOMAD_REGION": true}', "httpAuth": "me:secret"})
            plugin.invoke(GET_PLUGINS)
        asked = server.requests[-1]
        assert "X-Nomad-Token" not in asked.headers
        assert "region" not in asked.query
        assert asked.headers["Authorization"].startswith("Basic ")


def test_secret_settings_stay_secret(executable: Path) -> None:
    with plugin_process(executable, {}) as plugin:
        checked = plugin.check_config({"address": "http://127.0.0.1:1", "secretId": "1234"})
        assert "secretId" in checked.inputs.secrets


def test_an_unreachable_nomad_is_told_with_its_address(executable: Path) -> None:
    with plugin_process(executable, {}) as plugin:
        plugin.configure({"address": "http://127.0.0.1:1"})
        with pytest.raises(Failed, match=r"cannot reach Nomad at http://127.0.0.1:1"):
            plugin.invoke(GET_PLUGINS)


def test_tls_files_that_cannot_be_read_are_named(executable: Path) -> None:
    with plugin_process(executable, {}) as plugin, pytest.raises(Failed, match=r"/no/such/ca\.pem"):
        plugin.configure({"address": "https://127.0.0.1:1", "caFile": "/no/such/ca.pem"})
