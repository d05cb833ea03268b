"""`zfs` of the file server: what OpenZFS prints, refuses and ends with, as far as drivers read it."""

from pathlib import Path

import pytest

from sandbox.standins.nas import zfs
from sandbox.standins.nas.layout import Nas
from sandbox.standins.nas.properties import UsageError, ZfsError
from sandbox.standins.nas.zfs import run

FIELDS = "name,property,value,received,source"


@pytest.fixture
def nas(tmp_path: Path) -> Nas:
    server = Nas(tmp_path / "nas")
    server.prepare()
    return server


def do(nas: Nas, line: str) -> str:
    return run(nas, line.split())


def test_get_gives_a_line_for_each_property_by_its_full_name_with_its_source(nas: Nas) -> None:
    do(nas, "create -p -o refquota=1K -o a:b=c tank/csi/one")
    do(nas, "snapshot -o own:x=y tank/csi/one@s")
    asked = "refquota,avail,sharenfs,a:b,none:such,volsize,mountpoint"
    assert do(nas, f"get -Hp -o {FIELDS} {asked} tank/csi/one").splitlines() == [
        "tank/csi/one\trefquota\t1024\t-\tlocal",
        "tank/csi/one\tavailable\t1024\t-\t-",
        "tank/csi/one\tsharenfs\toff\t-\tdefault",
        "tank/csi/one\ta:b\tc\t-\tlocal",
        "tank/csi/one\tnone:such\t-\t-\t-",
        "tank/csi/one\tvolsize\t-\t-\t-",
        "tank/csi/one\tmountpoint\t/mnt/tank/csi/one\t-\t-",
    ]
    # A snapshot has what its file system has of the user's properties, and no quota.
    assert do(nas, "get -Hp -o property,value,source refquota,a:b,own:x tank/csi/one@s").splitlines() == [
        "refquota\t-\t-",
        "a:b\tc\tinherited from tank/csi/one",
        "own:x\ty\tlocal",
    ]


def test_a_property_is_inherited_until_it_is_set_and_again_when_it_is_given_up(nas: Nas) -> None:
    do(nas, "create -p tank/csi/one")
    do(nas, "set sharenfs=on a:b=c tank/csi")
    source = "get -Hp -o value,source sharenfs tank/csi/one"
    assert do(nas, source) == "on\tinherited from tank/csi\n"
    do(nas, "set sharenfs=off tank/csi/one")
    assert do(nas, source) == "off\tlocal\n"
    do(nas, "inherit sharenfs tank/csi/one")
    assert do(nas, source) == "on\tinherited from tank/csi\n"
    with pytest.raises(ZfsError, match="'refquota' property cannot be inherited"):
        do(nas, "inherit refquota tank/csi/one")
    with pytest.raises(ZfsError, match="invalid property"):
        do(nas, "set share=on tank/csi/one")
    with pytest.raises(ZfsError, match="bad numeric value"):
        do(nas, "set refquota=large tank/csi/one")


def test_lists_have_what_was_asked_for(nas: Nas) -> None:
    do(nas, "create -p tank/csi/one/inner")
    do(nas, "snapshot tank/csi/one@s")
    assert do(nas, "list -Hp -r -t filesystem -o name,refquota tank/csi").splitlines() == [
        "tank/csi\t0",
        "tank/csi/one\t0",
        "tank/csi/one/inner\t0",
    ]
    assert do(nas, "list -Hp -r -t snapshot -o name tank/csi") == "tank/csi/one@s\n"
    with pytest.raises(ZfsError, match="cannot open 'tank/none': dataset does not exist"):
        do(nas, "list -Hp -o name tank/none")


def test_what_is_there_already_is_said_unless_parents_are_asked_for(nas: Nas) -> None:
    do(nas, "create -p tank/csi/a/b")
    do(nas, "create -p tank/csi/a/b")
    with pytest.raises(ZfsError, match="cannot create 'tank/csi/a': dataset already exists"):
        do(nas, "create tank/csi/a")
    with pytest.raises(ZfsError, match="parent does not exist"):
        do(nas, "create tank/none/a")
    with pytest.raises(ZfsError, match="no such pool 'pond'"):
        do(nas, "create -p pond/a")


def test_a_snapshot_with_a_clone_stays_or_goes_with_the_clone(nas: Nas) -> None:
    do(nas, "create tank/csi/one")
    file = nas.root / "tank/csi/one/file"
    file.write_text("before")
    do(nas, "snapshot tank/csi/one@s")
    file.write_text("after")
    do(nas, "clone tank/csi/one@s tank/csi/two")
    assert (nas.root / "tank/csi/two/file").read_text() == "before"
    assert do(nas, "get -Hp -o value origin tank/csi/two") == "tank/csi/one@s\n"
    for line, said in (
        ("destroy tank/csi/one", "filesystem has children"),
        ("destroy -r tank/csi/one", "filesystem has dependent clones"),
        ("destroy tank/csi/one@s", "snapshot has dependent clones"),
    ):
        with pytest.raises(ZfsError, match=said):
            do(nas, line)
    do(nas, "destroy -r -f -p -d tank/csi/one@s")
    assert do(nas, "list -Hp -r -t snapshot -o name,defer_destroy tank/csi") == "tank/csi/one@s\ton\n"
    do(nas, "destroy -r -f -p tank/csi/two")
    assert do(nas, "list -Hp -r -t snapshot -o name tank/csi") == ""
    do(nas, "destroy tank/csi/one")
    assert not file.exists()


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("list -Hp -o name tank", 0),
        ("list -Hp -o name tank/none", 1),
        ("nonsense", 2),
        ("get -Hp -o name no-such tank", 2),
        ("list -x", 2),
    ],
)
def test_errors_end_with_one_and_mistaken_lines_with_two(nas: Nas, line: str, status: int) -> None:
    assert zfs.main([str(nas.folder), *line.split()]) == status


def test_a_mistaken_line_is_named(nas: Nas) -> None:
    with pytest.raises(UsageError, match="bad property list: invalid property 'no-such'"):
        do(nas, "get -Hp -o value no-such tank")


@pytest.mark.parametrize(
    ("line", "lacking"),
    [
        ("send tank/csi@s", "the command 'send'"),
        ("rollback tank/csi@s", "the command 'rollback'"),
        ("destroy -R tank/csi", "the option '-R'"),
        ("list -Hp tank", "`zfs list` without '-o'"),
        ("get -p -o value origin tank", "`zfs get` without '-H'"),
    ],
)
def test_what_no_driver_here_sends_is_refused_by_name(nas: Nas, line: str, lacking: str) -> None:
    with pytest.raises(UsageError, match=f"this stand-in does not have {lacking}"):
        do(nas, line)
