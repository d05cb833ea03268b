"""What every resource type promises, from its check to its deletion."""

from __future__ import annotations

import pytest

from provider.rpc.values import UNKNOWN
from tests.providers.harness import Failed

from .life import checked, make, of
from .subjects import TypeSubject
from .worlds import World


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


def test_what_cannot_be_is_refused_before_anything_is_done(place: World, subject: TypeSubject) -> None:
    given = subject.inputs(place)
    before = place.writes()
    for name, value in subject.invalid.items():
        failures = place.plugin.check(subject.token, given | {name: value}).failures
        assert any(name.lower() in f"{about} {reason}".lower() for about, reason in failures), name
    assert place.writes() == before


def test_what_is_unknown_yet_passes_the_check_and_the_preview(place: World, subject: TypeSubject) -> None:
    given = subject.inputs(place)
    before = place.writes()
    for unknown in ({name: UNKNOWN} for name in given):
        planned = place.plugin.create(subject.token, checked(place, subject, given | unknown), preview=True)
        assert planned.id == ""
    everything = checked(place, subject, dict.fromkeys(given, UNKNOWN))
    assert place.plugin.create(subject.token, everything, preview=True).id == ""
    assert place.writes() == before


def test_what_is_unknown_yet_is_a_change_of_what_exists(place: World, subject: TypeSubject) -> None:
    made = make(place, subject)
    for name in {**subject.updates, **subject.replaces}:
        assert made.diff(made.changed(**{name: UNKNOWN})).changed, name


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
    for name, value in inputs.items():
        if not name.startswith("__"):
            assert planned[name] == value


def test_a_preview_plans_exactly_the_outputs_that_are_made(place: World, subject: TypeSubject) -> None:
    inputs = checked(place, subject, subject.inputs(place))
    planned = place.plugin.create(subject.token, inputs, preview=True).outputs.props
    made = place.plugin.create(subject.token, inputs).outputs.props
    unplanned = {name for name, value in made.items() if value not in ("", 0, False, None, [], {})} - set(planned)
    assert unplanned <= {"id"}
    wrong = {name for name, value in planned.items() if value is not UNKNOWN and name in made and made[name] != value}
    assert wrong <= {"policy"}  # a policy document is written out in AWS's own way


def test_a_second_run_and_a_refresh_change_nothing(place: World, subject: TypeSubject) -> None:
    made = make(place, subject)
    assert not made.diff(made.changed()).changed
    found = made.read()
    assert found is not None
    assert found.id == made.resource.id
    assert found.inputs is not None
    assert not made.diff(made.changed(), found.outputs.props, found.inputs.props).changed


def test_what_can_change_in_place_does(place: World, subject: TypeSubject) -> None:
    made = make(place, subject)
    for name, value in subject.updates.items():
        diff = made.diff(made.changed(**{name: value}))
        assert diff.changed, name
        assert diff.replaces == [], name
        assert not diff.delete_before_replace


def test_a_preview_of_an_update_changes_nothing(place: World, subject: TypeSubject) -> None:
    made = make(place, subject)
    before = place.writes()
    for name, value in subject.updates.items():
        news = made.changed(**{name: value})
        planned = place.plugin.update(subject.token, made.resource.id, made.state, made.inputs, news, preview=True)
        assert planned[name] == news[name]
    assert place.writes() == before
    assert not made.diff(made.changed()).changed


def test_an_update_is_there_afterwards(place: World, subject: TypeSubject) -> None:
    made = make(place, subject)
    for name, value in list(subject.updates.items())[:1]:
        news = made.changed(**{name: value})
        state = place.plugin.update(subject.token, made.resource.id, made.state, made.inputs, news).outputs.props
        assert not made.diff(news, state, news).changed
        found = place.plugin.read(subject.token, made.resource.id, news, state)
        assert found is not None
        assert not made.diff(news, found.outputs.props, news).changed


def test_what_cannot_change_in_place_replaces(place: World, subject: TypeSubject) -> None:
    made = make(place, subject)
    for name, value in subject.replaces.items():
        diff = made.diff(made.inputs | {name: value})
        assert diff.replaces, name
        assert all(kind.endswith("_REPLACE") for path, kind in diff.detailed.items() if path in diff.replaces)
        named = "name" in made.given
        assert diff.delete_before_replace == (subject.delete_first or (subject.delete_first_if_named and named)), name


@of(lambda subject: subject.autonamed)
def test_a_name_that_the_program_chose_is_free_before_the_replacement_takes_it(
    place: World, subject: TypeSubject
) -> None:
    given = subject.inputs(place) | {"name": "chosen"}
    inputs = checked(place, subject, given)
    resource = place.plugin.create(subject.token, inputs)
    key, value = next(iter(subject.replaces.items()))
    state = resource.outputs.props
    diff = place.plugin.diff(subject.token, resource.id, state, inputs, inputs | {key: value})
    assert diff.delete_before_replace == (subject.delete_first or subject.delete_first_if_named)


@of(lambda subject: subject.autonamed)
def test_a_name_is_made_up_once_kept_and_new_for_a_replacement(place: World, subject: TypeSubject) -> None:
    given = {key: value for key, value in subject.inputs(place).items() if key != "name"}
    first = place.plugin.check(subject.token, given, name="data").inputs.props
    assert first["name"].startswith("data-")
    assert len(first["name"]) == len("data-") + 7
    assert "name" in first["__defaults"]
    # The engine checks with another seed each time, and without the old inputs where it makes a replacement.
    again = place.plugin.check(subject.token, given, first, name="data", seed=8).inputs["name"]
    replacement = place.plugin.check(subject.token, given, name="data", seed=8).inputs["name"]
    assert again == first["name"] != replacement
    chosen = place.plugin.check(subject.token, given | {"name": "mine"}, first).inputs.props
    assert "name" not in chosen["__defaults"]


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
    assert subject.secrets == made.resource.outputs.secrets
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
        assert made.read() is None
    made.delete()
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
        assert subject.vanish is None or made.read() is None


@of(lambda subject: subject.import_id is None)
def test_what_is_nothing_outside_the_stack_cannot_be_imported(place: World, subject: TypeSubject) -> None:
    with pytest.raises(Failed, match=r"cannot be imported.*Create a new one"):
        place.plugin.read(subject.token, "some-id")


@of(lambda subject: subject.import_id is not None)
def test_what_exists_is_imported_by_its_id_and_then_unchanged(place: World, subject: TypeSubject) -> None:
    made = make(place, subject)
    assert subject.import_id is not None
    found = place.plugin.read(subject.token, subject.import_id(made.resource))
    assert found is not None
    assert found.id == made.resource.id
    assert found.inputs is not None
    state = found.outputs.props | {name: made.state[name] for name in subject.hidden if name in made.state}
    changes = made.diff(made.changed(), state, found.inputs.props)
    assert changes.replaces == []
    assert set(changes.detailed) <= subject.hidden


@of(lambda subject: subject.import_id is not None)
def test_an_import_of_what_does_not_exist_finds_nothing(place: World, subject: TypeSubject) -> None:
    assert subject.import_id is not None
    made = make(place, subject)
    identity = subject.import_id(made.resource)
    place.reset()
    assert place.plugin.read(subject.token, identity) is None
