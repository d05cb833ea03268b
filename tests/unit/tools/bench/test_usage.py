"""Memory and processor time of a command: by process, of all it started."""

import pytest

from tools.bench import usage
from tools.bench.usage import Process, Usage, process_name


def test_each_process_has_its_own_peak_and_its_own_time(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = [
        [Process(1, "engine", 1.0, 100), Process(2, "engine", 0.0, 100)],
        # What was forked is something else by now.
        [Process(1, "engine", 2.5, 140), Process(2, "aws plugin", 0.5, 80), Process(3, "program", 1.0, 60)],
        # A process that has ended has no command line.
        [Process(1, "", 3.0, 0), Process(2, "aws plugin", 0.75, 90)],
    ]
    watched = iter(moments)
    monkeypatch.setattr(usage, "process_tree", lambda _: next(watched))
    found = Usage(1)
    for _ in moments:
        found.sample()
    assert found.peak_mib == {"engine": 140, "aws plugin": 90, "program": 60}
    assert found.cpu_s == 4.75


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("python3 -m sandbox.standins.plugins.aws 127.0.0.1:1", "aws plugin"),
        ("/home/plugins/resource-nomad-v2/pulumi-resource-nomad 127.0.0.1:1", "nomad plugin"),
        ("/project/nomad_stateful/provider/pulumi-resource-nomad-csi 127.0.0.1:1", "nomad-csi plugin"),
        ("/project/.venv/bin/python -m nomad_stateful.provider 127.0.0.1:1", "nomad-csi plugin"),
        ("python -u /bin/pulumi-language-python-exec --monitor 127.0.0.1:1", "program"),
    ],
)
def test_processes_are_known_by_their_command_lines(command: str, name: str) -> None:
    assert process_name(command) == name
