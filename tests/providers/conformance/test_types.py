"""What every resource type promises, from its check to its deletion."""

from __future__ import annotations

import contextlib
import re
from typing import Any

import pytest

from nomad_stateful.plugin_server.values import UNKNOWN
from tests.providers.conformance.life import EMPTY, checked, keeps, make, of, spellings, visible
from tests.providers.conformance.subjects import TypeSubject
from tests.providers.conformance.tables import TYPES
from tests.providers.conformance.worlds import World
from tests.providers.harness import Failed

_INVALID = [(subject, name) for subject in TYPES for name in subject.invalid]
INVALID = pytest.mark.parametrize(
    ("subject", "name"), _INVALID, ids=[f"{subject.label} {name}" for subject, name in _INVALID]
)


def test_an_input_that_does_not_exist_is_refused_by_name(place: World, subject: TypeSubject) -> None:
    result = place.plugin.check(subject.token, subject.inputs(place) | {"noSuchInput": "x"})
    assert "noSuchInput" in result.reasons


def test_every_required_input_is_asked_for_by_name(place: World, subject: TypeSubject) -> None:
    given = subject.inputs(place)
    for name in sorted(subject.required):
        left = {key: value for key, value in given.items() if key != name}
        assert name in place.plugin.check(subject.token, left).reasons
    kept = {key: given[key] for key in subject.required}
    failures = place.plugin.check(subject.token, kept).failures
    assert not [name for name, _ in failures if name in subject.required]


@INVALID
def test_what_cannot_be_is_refused_before_anything_is_done(place: World, subject: TypeSubject, name: str) -> None:
    given = subject.inputs(place) | {name: subject.invalid[name]}
    before = place.writes()
    result = place.plugin.check(subject.token, given)
    said = [f"{about} {reason}" for about, reason in result.failures]
    if not said:
        with pytest.raises(Failed) as failed:
            place.plugin.create(subject.token, result.inputs.props, preview=True)
        said = [failed.value.message]
    assert re.search(spellings(name), "\n".join(said), re.IGNORECASE)
    assert place.writes() == before


def test_what_is_unknown_yet_passes_the_check_and_the_preview(place: World, subject: TypeSubject) -> None:
    given = subject.inputs(place)
    before = place.writes()
    for unknown in ({name: UNKNOWN} for name in given if name not in subject.must_be_known):
        planned = place.plugin.create(subject.token, checked(place, subject, given | unknown), preview=True)
        assert planned.id == ""
    everything = checked(place, subject, dict.fromkeys(given, UNKNOWN))
    assert place.plugin.create(subject.token, everything, preview=True).id == ""
    assert place.writes() == before


@of(lambda subject: bool(subject.must_be_known))
def test_what_has_to_be_known_is_refused_in_the_preview(place: World, subject: TypeSubject) -> None:
    for name, said in subject.must_be_known.items():
        inputs = checked(place, subject, subject.inputs(place) | {name: UNKNOWN})
        with pytest.raises(Failed, match=said):
            place.plugin.create(subject.token, inputs, preview=True)


def test_what_is_unknown_yet_is_a_change_of_what_exists(place: World, subject: TypeSubject) -> None:
    made = make(place, subject)
    for name in {**subject.updates, **subject.replaces}.keys() - subject.defended:
        diff = made.diff(made.changed(**{name: UNKNOWN}))
        assert diff.changed, name
        if name in subject.replaces and not name.startswith("jobspec"):
            assert diff.replaces == [name]
            assert diff.delete_before_replace >= subject.delete_first


def test_a_check_of_checked_inputs_changes_nothing(place: World, subject: TypeSubject) -> None:
    given = subject.inputs(place)
    first = checked(place, subject, given)
    assert checked(place, subject, given, first) == first


def test_a_preview_of_a_creation_makes_nothing_and_has_no_id(place: World, subject: TypeSubject) -> None:
    inputs = checked(place, subject, subject.inputs(place))
    before = place.writes()
    planned = place.plugin.create(subject.token, inputs, preview=True)
    assert planned.id == ""
    assert place.writes() == before
    assert {name: visible(planned[name]) for name in visible(inputs)} == visible(inputs)


def test_a_preview_plans_exactly_the_outputs_that_are_made(place: World, subject: TypeSubject) -> None:
    inputs = checked(place, subject, subject.inputs(place))
    planned = visible(place.plugin.create(subject.token, inputs, preview=True).outputs.props)
    made = visible(place.plugin.create(subject.token, inputs).outputs.props)
    unplanned = {name for name, value in made.items() if value not in EMPTY} - set(planned)
    assert unplanned <= {"id"}
    wrong = {name for name, value in planned.items() if name in made and not keeps(value, made[name])}
    assert wrong <= {"policy"}  # a policy document is written out in AWS's own way


def test_a_second_run_and_a_refresh_change_nothing(place: World, subject: TypeSubject) -> None:
    made = make(place, subject)
    assert not made.diff(made.changed()).changed
    found = made.read()
    assert found is not None
    assert found.id == made.resource.id
    assert not made.diff(made.changed(), found.outputs.props, found.inputs.props).changed


def test_what_can_change_in_place_does(place: World, subject: TypeSubject) -> None:
    made = make(place, subject)
    for name, value in subject.updates.items():
        diff = made.diff(made.changed(**{name: value}))
        assert diff.changed, name
        assert diff.replaces == [], name
        assert diff.delete_before_replace == subject.delete_first_after_interruption


def test_a_preview_of_an_update_changes_nothing(place: World, subject: TypeSubject) -> None:
    made = make(place, subject)
    before = place.writes()
    for name, value in subject.updates.items():
        news = made.changed(**{name: value})
        planned = place.plugin.update(subject.token, made.resource.id, made.state, made.inputs, news, preview=True)
        assert visible(planned[name]) == visible(news[name])
        assert planned.outputs.props.get("arn") == made.state.get("arn")
    assert place.writes() == before
    assert not made.diff(made.changed()).changed


def test_an_update_is_there_afterwards(place: World, subject: TypeSubject) -> None:
    made = make(place, subject)
    for name, value in list(subject.updates.items())[:1]:
        news = made.changed(**{name: value})
        state = place.plugin.update(subject.token, made.resource.id, made.state, made.inputs, news).outputs.props
        assert not made.diff(news, state, news).changed
        found = place.plugin.found(subject.token, made.resource.id, news, state)
        assert not made.diff(news, found.outputs.props, news).changed


def test_what_cannot_change_in_place_replaces(place: World, subject: TypeSubject) -> None:
    made = make(place, subject)
    for name, value in subject.replaces.items():
        diff = made.diff(made.inputs | {name: value})
        # A job's own text is not what replaces it, but the name in it.
        assert diff.replaces in ([name], ["name"])
        assert all(kind.endswith("_REPLACE") for path, kind in diff.detailed.items() if path in diff.replaces)
        named = "name" in made.given
        assert diff.delete_before_replace == (subject.delete_first or (subject.delete_first_if_named and named)), name


@of(lambda subject: subject.autonamed)
def test_a_name_that_the_program_chose_is_free_before_the_replacement_takes_it(
    place: World, subject: TypeSubject
) -> None:
    given = subject.inputs(place) | {subject.named_by: "chosen"}
    inputs = checked(place, subject, given)
    resource = place.plugin.create(subject.token, inputs)
    key, value = next(iter(subject.replaces.items()))
    state = resource.outputs.props
    diff = place.plugin.diff(subject.token, resource.id, state, inputs, inputs | {key: value})
    assert diff.delete_before_replace == (subject.delete_first or subject.delete_first_if_named)


@of(lambda subject: subject.autonamed)
def test_a_name_is_made_up_once_kept_and_new_for_a_replacement(place: World, subject: TypeSubject) -> None:
    key = subject.named_by
    given = {name: value for name, value in subject.inputs(place).items() if name != key}
    first = place.plugin.check(subject.token, given, name="data").inputs.props
    assert first[key].startswith("data-")
    assert len(first[key]) == len("data-") + 7
    # The engine checks with another seed each time, and without the old inputs where it makes a replacement.
    again = place.plugin.check(subject.token, given, first, name="data", seed=8).inputs[key]
    replacement = place.plugin.check(subject.token, given, name="data", seed=8).inputs[key]
    assert again == first[key] != replacement
    assert place.plugin.check(subject.token, given | {key: "mine"}, first).inputs[key] == "mine"


def test_secret_inputs_are_secret_outputs(place: World, subject: TypeSubject) -> None:
    given = subject.inputs(place)
    result = place.plugin.check(subject.token, given, secrets=set(given))
    assert set(given) <= result.inputs.secrets
    made = place.plugin.create(subject.token, result.inputs.props, secrets=result.inputs.secrets)
    shown = {name for name in given if name in made.outputs.props}
    assert shown <= made.outputs.secrets
    planned = place.plugin.create(subject.token, result.inputs.props, preview=True, secrets=result.inputs.secrets)
    assert shown & set(planned.outputs.props) <= planned.outputs.secrets


def test_what_is_secret_by_its_type_is_always_secret(place: World, subject: TypeSubject) -> None:
    made = make(place, subject)
    assert subject.secrets == {name for name in made.resource.outputs.secrets if made.state[name] is not None}
    assert subject.secrets & set(made.inputs) <= place.plugin.check(subject.token, made.given).inputs.secrets
    found = made.read()
    assert found is not None
    assert subject.secrets & set(found.outputs.props) <= found.outputs.secrets


def test_what_somebody_took_away_is_gone_at_refresh_and_can_be_deleted(place: World, subject: TypeSubject) -> None:
    made = make(place, subject)
    if subject.vanish is None:
        assert made.read() is not None, "it is in the state alone"
    else:
        subject.vanish(place, made.resource)
        assert (made.read() is None) == (not subject.outlasts), subject.outlasts
    for _ in range(2):
        with pytest.raises(Failed, match=subject.gone_fails) if subject.gone_fails else contextlib.nullcontext():
            made.delete()


def test_what_is_deleted_is_gone(place: World, subject: TypeSubject) -> None:
    made = make(place, subject)
    before = place.writes()
    made.delete()
    if subject.delete_leaves:
        assert place.writes() == before, subject.delete_leaves
        assert made.read() is not None, subject.delete_leaves
    else:
        assert place.writes() != before, "nothing was asked of the service"
        found = made.read() if subject.vanish and not subject.outlasts else None
        assert found is None or (subject.delete_stops and _stopped(found))


def _stopped(found: Any) -> bool:
    props = found.outputs.props
    versioning = props.get("versioningConfiguration") or {}
    locks_no_more = "objectLockEnabled" in props and not props.get("rule")
    return props.get("stop") is True or versioning.get("status") == "Suspended" or locks_no_more


@of(lambda subject: bool(subject.import_fails))
def test_an_import_that_cannot_be_done_says_so(place: World, subject: TypeSubject) -> None:
    made = make(place, subject)
    with pytest.raises(Failed, match=subject.import_fails):
        place.plugin.read(subject.token, made.resource.id)


@of(lambda subject: subject.import_id is None and not subject.import_fails)
def test_what_is_nothing_outside_the_stack_cannot_be_imported(place: World, subject: TypeSubject) -> None:
    with pytest.raises(Failed, match=r"cannot be imported.*Create a new one"):
        place.plugin.read(subject.token, "some-id")


@of(lambda subject: subject.import_id is not None)
def test_what_exists_is_imported_by_its_id_and_then_unchanged(place: World, subject: TypeSubject) -> None:
    made = make(place, subject)
    assert subject.import_id is not None
    found = place.plugin.found(subject.token, subject.import_id(made.resource))
    assert found.id == made.resource.id
    changes = made.diff(made.changed(), found.outputs.props, found.inputs.props)
    assert changes.replaces == []
    assert {path.split(".")[0].split("[")[0] for path in changes.detailed} <= subject.hidden


@of(lambda subject: subject.import_id is not None)
def test_an_import_of_what_does_not_exist_finds_nothing(place: World, subject: TypeSubject) -> None:
    assert subject.import_id is not None
    made = make(place, subject)
    identity = subject.import_id(made.resource)
    place.reset()
    assert place.plugin.read(subject.token, identity) is None
