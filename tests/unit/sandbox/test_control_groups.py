from pathlib import Path

import pytest

from sandbox.machine import control_groups
from sandbox.machine.errors import CloudError


@pytest.fixture
def version_1(tmp_path: Path) -> Path:
    """A tree per controller, one of them under two names."""
    for tree in ("cpu,cpuacct", "cpuset", "memory"):
        (tmp_path / tree).mkdir()
        (tmp_path / tree / "cgroup.procs").touch()
    (tmp_path / "cpu").symlink_to("cpu,cpuacct")
    (tmp_path / "cpuset/cpuset.cpus").write_text("0-3\n")
    (tmp_path / "cpuset/cpuset.mems").write_text("0\n")
    return tmp_path


@pytest.fixture
def version_2(tmp_path: Path) -> Path:
    """A single tree."""
    (tmp_path / "cgroup.procs").touch()
    (tmp_path / "cgroup.controllers").write_text("cpuset cpu io memory hugetlb pids\n")
    return tmp_path


def test_with_version_1_each_tree_has_the_group_and_it_can_take_processes(version_1: Path) -> None:
    control_groups.make("ours/one", version_1)
    groups = {str(path.relative_to(version_1)) for path in version_1.glob("*/ours/*") if path.is_dir()}
    assert groups - {"cpu/ours/one"} == {"cpu,cpuacct/ours/one", "cpuset/ours/one", "memory/ours/one"}
    for group in ("ours", "ours/one"):
        assert (version_1 / "cpuset" / group / "cpuset.cpus").read_text().strip() == "0-3"
        assert (version_1 / "cpuset" / group / "cpuset.mems").read_text().strip() == "0"
    assert not (version_1 / "memory/ours/cpuset.cpus").exists()


def test_with_version_2_each_group_gets_the_controllers_and_the_last_keeps_its_processes_apart(version_2: Path) -> None:
    control_groups.make("ours/one", version_2)
    for above in ("", "ours"):
        handed_down = (version_2 / above / "cgroup.subtree_control").read_text().split()
        assert handed_down == ["+cpuset", "+cpu", "+io", "+memory", "+pids"]
    # Not while the processes that are to leave it are in it.
    assert not (version_2 / "ours/one/cgroup.subtree_control").exists()
    words = control_groups.entering("ours/one", ["true"], version_2)
    joined = [words[3], words[words.index("unshare") :][6]]
    assert joined == [str(version_2 / "ours/one"), str(version_2 / "ours/one/init")]


def test_a_group_goes_with_all_below_it_and_those_of_others_stay(version_1: Path) -> None:
    for path in ("cpu,cpuacct/ours/one/nomad/share", "memory/ours/one", "memory/theirs/two", "memory/nomad/share"):
        (version_1 / path).mkdir(parents=True)
    assert control_groups.remove("ours", version_1)
    assert not list(version_1.glob("*/ours"))
    assert (version_1 / "memory/theirs/two").is_dir()
    assert (version_1 / "memory/nomad/share").is_dir()
    assert not control_groups.remove("ours", version_1)


def test_a_group_that_is_in_use_is_said_to_be_with_who_is_in_it(version_1: Path) -> None:
    (version_1 / "memory/ours/one").mkdir(parents=True)
    (version_1 / "memory/ours/one/cgroup.procs").write_text("77\n")
    with pytest.raises(CloudError, match="ours cannot be removed: these processes are in it: 77"):
        control_groups.remove("ours", version_1, timeout_s=0)


def test_a_machine_that_lets_no_group_be_made_is_told_what_is_needed(version_1: Path) -> None:
    (version_1 / "memory/ours").touch()
    with pytest.raises(CloudError, match=r"ours/one cannot be made: .*/memory/ours: File exists\. .*writable"):
        control_groups.make("ours/one", version_1)
