"""How values reach the variables of a job file."""

import json
from pathlib import Path
from urllib.parse import unquote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nomad_stateful import jobspec as jobs
from nomad_stateful.nomad.job_rendering import render
from tools import toolchain

JOB = {"id": "id", "namespace": "default"}
SERVER = {"database": "mysql"}
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


def templates(value: object) -> list[str]:
    """Template openings that HCL would evaluate: an odd run of $ or % before a brace is one, an even run is literal."""
    found = []
    text = json.dumps(value, ensure_ascii=False)
    for opening in ("${", "%{"):
        position = text.find(opening)
        while position >= 0:
            run = position
            while run > 0 and text[run - 1] == opening[0]:
                run -= 1
            if (position - run) % 2 == 0:
                found.append(text[run : position + 2])
            position = text.find(opening, position + 2)
    return found


def test_runtime_variables_of_nomad_pass_through_hcl_untouched() -> None:
    assert jobs.hcl_value(["--endpoint=${CSI_ENDPOINT}"]) == '["--endpoint=$${CSI_ENDPOINT}"]'


def test_characters_that_json_escapes_in_its_own_way_are_written_as_hcl_reads_them() -> None:
    assert jobs.hcl_value(["\b\f", "\N{GRINNING FACE}", "\\b", "$${a}", "%{b}", "+00:00"]) == (
        '["\\u0008\\u000c", "\N{GRINNING FACE}", "\\\\b", "$\\u0024{a}", "\\u0025{b}", "\\u002b00:00"]'
    )


def test_a_bare_string_is_taken_literally_by_nomad() -> None:
    assert jobs.hcl_value("a${b}") == "a${b}"


@given(VALUES.filter(lambda value: not isinstance(value, str)))
def test_no_value_opens_a_template_of_its_own(value: object) -> None:
    written = jobs.hcl_value(value)
    # As Nomad gives it back: decoded as a URL's, once more by each `nomad job start`.
    assert unquote_plus(written) == written
    assert templates(json.loads(written.replace(r"\u0025", "percent "))) == []


@pytest.mark.nomad
@pytest.mark.parametrize("path", sorted(jobs.FOLDER.glob("*.nomad.hcl")), ids=lambda path: path.name)
def test_a_job_is_the_same_by_hand_and_by_the_program(path: Path) -> None:
    """The text that the program submits has in it what `nomad job run` reads from files."""
    nomad, name = toolchain.ensure().nomad, path.name.removesuffix(".nomad.hcl")
    example = f"-var-file={jobs.FOLDER / f'{name}.vars.hcl'}"
    by_hand = render(nomad, path.read_text(encoding="utf-8"), {}, example)
    submitted = render(
        nomad,
        jobs.spec(name, {"job": {"id": by_hand["ID"], "namespace": by_hand["Namespace"]}, "server": SERVER}),
        {},
        example,
    )
    assert submitted == by_hand
    assert "file(" not in jobs.spec(name, {"job": JOB, "server": SERVER})


@pytest.mark.parametrize("text", ["echo no line break", "FILE\n", "\t FILE \n", "echo\r\n", "echo $${a}\n"])
def test_a_script_that_a_heredoc_cannot_hold_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    (tmp_path / "x.nomad.hcl").write_text('data = file("jobs/x.sh")\n')
    (tmp_path / "x.sh").write_bytes(text.encode())
    monkeypatch.setattr(jobs, "FOLDER", tmp_path)
    with pytest.raises(ValueError, match=r"x\.sh"):
        jobs.spec("x", {"job": JOB})


def test_every_job_file_has_example_values_to_parse_it_with() -> None:
    names = sorted(path.name.removesuffix(".nomad.hcl") for path in jobs.FOLDER.glob("*.nomad.hcl"))
    assert names
    assert [name for name in names if not (jobs.FOLDER / f"{name}.vars.hcl").exists()] == []
