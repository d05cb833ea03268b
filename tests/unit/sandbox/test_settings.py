from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

import pytest

from sandbox.settings import (
    CONFIG_VARIABLE,
    HOME_VARIABLE,
    PROJECT,
    SandboxError,
    SettingsError,
    load_settings,
    parse_settings,
)

HOME = Path("/nowhere/.sandbox")
PINNED = f"docker.io/library/mysql@sha256:{'0123456789abcdef' * 4}"


def test_the_committed_file_has_every_key_with_its_default() -> None:
    assert load_settings({HOME_VARIABLE: str(HOME)}) == parse_settings({}, HOME)


def test_an_empty_file_gives_three_instances_in_two_zones() -> None:
    settings = parse_settings({}, HOME)
    assert [(spec.name, spec.zone) for spec in settings.instances] == [
        ("client-1", "us-west-2a"),
        ("client-2", "us-west-2a"),
        ("client-3", "us-west-2b"),
    ]
    assert str(settings.gateway) == "10.173.86.1"
    assert settings.bridge == "nsb-br"


def test_every_instance_has_an_address_of_its_own_in_the_subnet_of_its_zone() -> None:
    settings = parse_settings({"subnet": "10.1.2.0/25"}, HOME)
    addresses = [settings.instance_address(spec) for spec in settings.instances]
    assert len(set(addresses)) == 3
    for spec, address in zip(settings.instances, addresses, strict=True):
        assert address in settings.zone_subnet(spec.zone)
    assert settings.zone_subnet("us-west-2b") == IPv4Network("10.1.2.64/26")
    assert settings.gateway not in addresses


def test_of_three_servers_each_zone_has_one_at_an_address_of_its_own() -> None:
    zones = ["us-west-2a", "us-west-2b", "us-west-2c"]
    instances = [{"name": f"client-{number}", "zone": "us-west-2b"} for number in range(52)]
    settings = parse_settings({"zones": zones, "servers": 3, "instances": instances}, HOME)
    assert [(one.name, one.zone) for one in settings.nomad_servers] == [(f"server-{zone}", zone) for zone in zones]
    addresses = {one.address for one in settings.nomad_servers}
    assert len(addresses) == 3
    for one in settings.nomad_servers:
        assert one.zone is not None
        assert one.address in settings.zone_subnet(one.zone)
        assert one.address != settings.zone_subnet(one.zone).broadcast_address
    assert not addresses & {settings.instance_address(spec) for spec in settings.instances}
    with pytest.raises(SettingsError, match="too small"):
        parse_settings(
            {"zones": zones, "servers": 3, "instances": [*instances, {"name": "one-more", "zone": "us-west-2b"}]}, HOME
        )


def test_the_home_folder_comes_from_the_environment_or_is_in_the_project() -> None:
    assert load_settings({}).home == PROJECT / ".sandbox"
    assert load_settings({HOME_VARIABLE: "/x"}).home == Path("/x")


@pytest.mark.parametrize(
    ("table", "key", "remedy"),
    [
        ({"nam": "x"}, "nam", "remove or rename"),
        ({"name": "a-name-that-is-too-long"}, "name", "letters and digits"),
        ({"subnet": "10.0.0.1/24"}, "subnet", "10.173.86.0/24"),
        ({"subnet": "8.8.8.0/24"}, "subnet", "private"),
        ({"subnet": "127.0.0.0/24"}, "subnet", "private"),
        ({"subnet": "10.0.0.0/30"}, "subnet", "10.173.86.0/24"),
        ({"subnet": 10}, "subnet", "10.173.86.0/24"),
        ({"tls": "yes"}, "tls", "tls = true"),
        ({"region": "nowhere"}, "region", "us-west-2"),
        ({"zones": ["us-east-1a"]}, "zones", "us-west-2a"),
        ({"zones": ["us-west-2a", "us-west-2a"]}, "zones", "once"),
        ({"zones": []}, "zones", "us-west-2a"),
        ({"servers": 2}, "servers", "1, 3 or 5"),
        ({"servers": True}, "servers", "1, 3 or 5"),
        ({"servers": 3}, "servers", "as many zones"),
        ({"zone_delay_ms": -1}, "zone_delay_ms", "zone_delay_ms = 0.5"),
        ({"zone_delay_ms": "0.5ms"}, "zone_delay_ms", "zone_delay_ms = 0.5"),
        ({"zone_delay_ms": True}, "zone_delay_ms", "zone_delay_ms = 0.5"),
        ({"ports": {"http": 1}}, "ports.http", "nomad_http"),
        ({"ports": {"ec2": 80}}, "ports.ec2", "free port"),
        ({"ports": {"ec2": True}}, "ports.ec2", "free port"),
        ({"ports": {"ec2": 4646}}, "ports.nomad_http", "different"),
        ({"instances": []}, "instances", "[[instances]]"),
        ({"instances": [{"name": "a", "zone": "us-west-2c"}]}, "instances[0].zone", "us-west-2a"),
        ({"instances": [{"name": "A_b", "zone": "us-west-2a"}]}, "instances[0].name", "client-1"),
        ({"instances": [{"name": "a", "zone": "us-west-2a"}] * 2}, "instances[1].name", "different"),
        ({"instances": [{"name": "a", "zone": "us-west-2a", "size": 1}]}, "instances[0].size", "remove"),
        ({"images": ["mysql:9.7"]}, "images", "[images]"),
        ({"images": {"mysql": PINNED}}, "images", '"NAME:TAG" ='),
        ({"images": {"mysql:9.7": "docker.io/library/mysql:9.7"}}, 'images."mysql:9.7"', "@sha256:DIGEST"),
        ({"images": {"mysql:9.7": "docker.io/library/mysql@sha256:0123"}}, 'images."mysql:9.7"', "@sha256:DIGEST"),
        ({"images": {"mysql:9.7": PINNED.removeprefix("docker.io/")}}, 'images."mysql:9.7"', "REGISTRY/REPOSITORY"),
        ({"images": {"mysql:9.7": 9}}, 'images."mysql:9.7"', "@sha256:DIGEST"),
        ({"subnet": "10.0.0.0/26", "zones": [f"us-west-2{z}" for z in "abcdefgh"]}, "subnet", "/24"),
    ],
)
def test_a_bad_value_is_refused_with_key_value_rule_and_remedy(table: dict[str, Any], key: str, remedy: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parse_settings(table, HOME)
    assert caught.value.key == key
    assert str(caught.value).startswith(f"{key} is ")
    assert remedy in str(caught.value)


def test_an_image_is_pulled_by_the_digest_that_is_named() -> None:
    [image] = parse_settings({"images": {"mysql:9.7": PINNED}}, HOME).images
    assert (image.name, image.reference) == ("mysql:9.7", PINNED)
    assert image.label == "mysql:9.7@sha256:0123456789ab"


def test_a_file_that_is_missing_or_not_toml_is_named(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match=CONFIG_VARIABLE):
        load_settings({CONFIG_VARIABLE: str(tmp_path / "none.toml")})
    broken = tmp_path / "broken.toml"
    broken.write_text("name = ")
    with pytest.raises(SandboxError, match=r"broken\.toml is not TOML"):
        load_settings({CONFIG_VARIABLE: str(broken)})


def test_a_sandbox_that_was_started_with_tls_has_it_until_it_goes_down(tmp_path: Path) -> None:
    environ = {HOME_VARIABLE: str(tmp_path)}
    assert load_settings(environ).nomad_url == "http://10.173.86.1:4646"
    certificate = load_settings(environ).nomad_cli_certificate
    certificate.parent.mkdir(parents=True)
    assert load_settings(environ).nomad_url == "http://10.173.86.1:4646"
    certificate.touch()
    assert load_settings(environ).nomad_url == "https://10.173.86.1:4646"
