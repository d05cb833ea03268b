"""The command line is aws-ebs-csi-driver's."""

from __future__ import annotations

import pytest

from sandbox.standins.csi.endpoint import EndpointError, parse_endpoint
from sandbox.standins.csi.flags import FlagError, FlagSet, boolean
from sandbox.standins.ebs_csi_driver.__main__ import main
from sandbox.standins.ebs_csi_driver.options import Mode, Options, parse_options, split_mode


def options(*arguments: str) -> Options:
    return parse_options(*split_mode(arguments))


def test_the_documented_controller_line_is_understood() -> None:
    parsed = options("controller", "--endpoint=unix://csi/csi.sock", "--logtostderr", "--v=5")
    assert (parsed.mode, parsed.endpoint, parsed.verbosity) == (Mode.CONTROLLER, "unix://csi/csi.sock", 5)


def test_no_mode_means_all_services() -> None:
    assert options("--v=2").mode is Mode.ALL
    assert options().mode is Mode.ALL


@pytest.mark.parametrize(
    "arguments",
    [
        ("--v=4", "--logtostderr", "--volume-attach-limit=3"),
        ("--v", "4", "--logtostderr=true", "--volume-attach-limit", "3"),
        ("-v=4", "-logtostderr", "-volume-attach-limit=3"),
        ("-v", "4", "--logtostderr=1", "-volume-attach-limit", "3"),
    ],
)
def test_flags_may_be_written_in_each_of_gos_ways(arguments: tuple[str, ...]) -> None:
    parsed = options("node", *arguments)
    assert (parsed.verbosity, parsed.volume_attach_limit) == (4, 3)


def test_a_boolean_flag_takes_no_separate_value() -> None:
    known = FlagSet("driver", [boolean("batching", "")])
    assert known.parse(["--batching", "false"]) == {"batching": True}
    assert known.parse(["--batching=false"]) == {"batching": False}


def test_extra_tags_given_twice_are_added_up() -> None:
    parsed = options("controller", "--extra-tags=a=1,b=x=y", "--extra-tags", "c=3")
    assert parsed.extra_tags == {"a": "1", "b": "x=y", "c": "3"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["node", "--extra-tags=a=1"], "unknown flag: --extra-tags"),
        (["controller", "--batching"], "unknown flag: --batching; this stand-in has those that the stack"),
        (["controller", "--volume-attach-limit=3"], "unknown flag: --volume-attach-limit"),
        (["metadataLabeler"], "Unknown driver mode"),
        (["node", "--v"], "flag needs an argument"),
        (["node", "--v=many"], 'invalid argument "many" for "--v"'),
        (["node", "--volume-attach-limit=3", "--reserved-volume-attachments=1"], "only one of"),
        (["node", "--metadata-sources=imds,kubernetes"], "only 'imds' is supported"),
        (["node", "--metadata-sources=metadata-labeler"], "only 'imds' is supported"),
        (["controller", "--extra-tags=aws:x=1"], "prefix of 'aws:x' is reserved"),
        (["controller", "--extra-tags=CSIVolumeName=x"], "reserved"),
        (["controller", "--extra-tags=novalue"], "malformed pair"),
        (["controller", "--logtostderr=perhaps"], "invalid syntax"),
    ],
)
def test_a_wrong_line_is_refused_with_the_flag_and_status_2(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert said in capsys.readouterr().err
    with pytest.raises(FlagError):
        options(*arguments)


def test_help_lists_the_modes_flags_and_succeeds(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["node", "--help"]) == 0
    shown = capsys.readouterr().err
    assert "--volume-attach-limit" in shown
    assert "--extra-tags" not in shown


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("unix:///run/csi.sock", "unix:///run/csi.sock"),
        ("unix:/run/csi.sock", "unix:///run/csi.sock"),
        ("unix://csi/csi.sock", "unix:///csi/csi.sock"),
    ],
)
def test_endpoints_are_read_in_every_form(text: str, target: str) -> None:
    assert parse_endpoint(text).target == target


@pytest.mark.parametrize(
    "text", ["", "unix://", "http://x:1", "tcp://127.0.0.1:9000", "/run/csi.sock", "unix:///" + "x" * 120]
)
def test_an_endpoint_that_cannot_work_is_refused(text: str) -> None:
    with pytest.raises(EndpointError):
        parse_endpoint(text)
