"""What all resource types of the plugin share: checking, defaults, tags, region, and the comparison with the state."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from nomad_stateful.errors import ProviderError
from nomad_stateful.plugin_server.plugin import (
    UNKNOWN,
    Checked,
    CheckFailure,
    Diff,
    Kind,
    Props,
    ReadResult,
    ResourceType,
    property_diff,
)
from nomad_stateful.waiting import Context
from sandbox.standins.plugins.aws import inputs as declared
from sandbox.standins.plugins.aws.clients import Cloud
from sandbox.standins.plugins.aws.inputs import Field, is_zero
from sandbox.standins.plugins.aws.scope import not_implemented
from sandbox.standins.plugins.aws.tags import plain_tags

_DEFAULTS = "__defaults"


class AwsResource(ResourceType):
    """A type declared by its fields; subclasses add what AWS has to be told."""

    fields: ClassVar[Mapping[str, Field]]
    regional: ClassVar[bool] = False
    tagged: ClassVar[bool] = False
    autonamed: ClassVar[bool] = False
    named_by: ClassVar[str] = "name"
    """The input that names it."""
    delete_first: ClassVar[bool] = False
    """Always delete before replacing: two of them cannot exist side by side."""

    def __init__(self, cloud: Cloud) -> None:
        self.cloud = cloud

    def rules(self, inputs: Props) -> Iterator[CheckFailure]:
        """Yields what is wrong with inputs whose types are right; values may be UNKNOWN."""
        yield from ()

    def same(self, name: str, old: Any, new: Any) -> bool:
        """Tells whether two known values of a field mean the same."""
        return bool(old == new)

    @abstractmethod
    def find(self, id: str, state: Props) -> Props | None:
        """Returns the outputs of the resource as AWS has it, None when it is gone; `state` is {} for an import."""

    def outputs_of(self, id: str, inputs: Props) -> Props:
        """Returns the outputs of what was just made or changed."""
        outputs = self.find(id, inputs)
        if outputs is None:
            raise ProviderError(f"reading {self.token} ({id}): it vanished while it was being worked on")
        return outputs

    # -- check ----------------------------------------------------------------------------------------------------

    def check(self, ctx: Context, olds: Props, news: Props) -> Checked:
        checked, failures = self._typed(news)
        defaulted = self._fill_defaults(ctx, olds, checked)
        if self.regional:
            checked.setdefault("region", self.cloud.config.region)
        if self.tagged:
            tags = checked.get("tags", {})
            checked["tagsAll"] = UNKNOWN if tags is UNKNOWN else self.cloud.config.tag_rules.merged(tags)
        checked[_DEFAULTS] = sorted(defaulted)
        if not failures:
            failures = list(self.rules(checked))
        return Checked(checked, failures)

    def _typed(self, news: Props) -> tuple[Props, list[CheckFailure]]:
        checked: Props = {}
        failures = []
        for name, value in news.items():
            if value is None or name.startswith("__") or (name == "tagsAll" and self.tagged):
                continue
            if name not in self.fields:
                failures.append(CheckFailure("", not_implemented(f"the input '{name}' of {self.token}")))
                continue
            try:
                checked[name] = value if value is UNKNOWN else declared.coerce(self.fields[name].kind, value)
            except ValueError as error:
                failures.append(CheckFailure("", f"{name}: {error}"))
            else:
                if self.fields[name].fixed and checked[name] != self.fields[name].default:
                    failures.append(CheckFailure("", not_implemented(f"the input '{name}' of {self.token}")))
        for name, field in self.fields.items():
            if field.required and news.get(name) is None:
                failures.append(CheckFailure("", f"Missing required argument: {name}"))
        return checked, failures

    def _fill_defaults(self, ctx: Context, olds: Props, checked: Props) -> list[str]:
        """Sets unset fields that have a default, keeping an earlier automatic name; returns which were set."""
        filled = []
        for name, field in self.fields.items():
            if field.default is not None and name not in checked:
                checked[name] = field.default
                filled.append(name)
        name = self.named_by
        if self.autonamed and name not in checked:
            kept = olds.get(name) if name in olds.get(_DEFAULTS, [name]) else None
            checked[name] = kept or declared.autoname(ctx.name, ctx.random_seed)
            filled.append(name)
        return filled

    # -- diff -----------------------------------------------------------------------------------------------------

    def diff(self, ctx: Context, id: str, state: Props, old_inputs: Props, news: Props) -> Diff:
        news = ignoring(ctx, state, news)
        detailed: dict[str, Kind] = {}
        for name, field in self._compared().items():
            changes = self._field_diff(name, field, state, news)
            detailed |= {path: kind.as_replace() for path, kind in changes.items()} if field.replaces else changes
        replaces = sorted(name for name, field in self.fields.items() if field.replaces and _touches(name, detailed))
        stables = sorted(name for name, field in self.fields.items() if field.replaces and name not in replaces)
        named = self.autonamed and self.named_by in news and self.named_by not in news.get(_DEFAULTS, ())
        return Diff(detailed, replaces, bool(replaces) and (self.delete_first or named), stables)

    def _compared(self) -> dict[str, Field]:
        return {**self.fields, **({"tagsAll": Field("tags")} if self.tagged else {})}

    def _field_diff(self, name: str, field: Field, state: Props, news: Props) -> dict[str, Kind]:
        old, new = state.get(name), news.get(name)
        if field.kind == "tags":
            old, new = (tags if tags is UNKNOWN else plain_tags(tags) for tags in (old, new))
        elif new is UNKNOWN:
            return {name: Kind.ADD if old is None else Kind.UPDATE}
        elif name == "region" and (old is None or new is None):
            return {}  # state of plugins before 7.0 has none
        elif self._unchanged(name, field, old, new):
            return {}
        return property_diff(old, new, name)

    def _unchanged(self, name: str, field: Field, old: Any, new: Any) -> bool:
        if new is None and field.computed:
            return True
        if is_zero(old) and is_zero(new):
            return True
        return old is not None and new is not None and self.same(name, old, new)

    # -- previews -------------------------------------------------------------------------------------------------

    def preview_create(self, ctx: Context, inputs: Props) -> Props:
        chosen_by_aws = [name for name, field in self.fields.items() if field.computed]
        return dict.fromkeys([*self.computed, *chosen_by_aws, "id"], UNKNOWN) | self.plain(inputs)

    def preview_update(self, ctx: Context, id: str, state: Props, inputs: Props) -> Props:
        kept = {name: value for name, value in state.items() if name not in self.fields or self.fields[name].computed}
        return kept | self.plain(inputs)

    def plain(self, inputs: Props) -> Props:
        """Returns inputs without bookkeeping: the part of them that is also output."""
        return {name: value for name, value in inputs.items() if not name.startswith("__")}

    # -- read -----------------------------------------------------------------------------------------------------

    def read(self, ctx: Context, id: str, inputs: Props, state: Props) -> ReadResult | None:
        outputs = ctx.call(lambda: self.find(id, state or inputs))
        if outputs is None:
            return None
        read = self._refreshed(inputs, outputs) if inputs else self._imported(outputs)
        return ReadResult(outputs["id"], read, outputs)

    def _refreshed(self, inputs: Props, outputs: Props) -> Props:
        """Returns the inputs with what has drifted; nothing is added that the program did not set."""
        result: Props = {}
        for name, old in inputs.items():
            now = outputs.get(name)
            if name.startswith("__") or (now is not None and self.same(name, old, now)):
                result[name] = old
            elif now is not None:
                result[name] = now
        return result

    def _imported(self, outputs: Props) -> Props:
        result: Props = {}
        defaulted = []
        for name, field in self._compared().items():
            value = outputs.get(name)
            if field.default is not None and value == field.default:
                defaulted.append(name)
                result[name] = value
            elif not is_zero(value):
                result[name] = value
        if self.tagged:
            result.setdefault("tagsAll", {})
        result[_DEFAULTS] = sorted(defaulted)
        return result

    # -- what subclasses use --------------------------------------------------------------------------------------

    def region_of(self, props: Props) -> str:
        """Returns the region a resource is in; states of plugins before 7.0 do not hold it."""
        region = props.get("region")
        return region if isinstance(region, str) and region else self.cloud.config.region

    def tag_outputs(self, actual: Mapping[str, str], state: Props) -> Props:
        """Returns the outputs `tags` (absent when there are none) and `tagsAll` for a resource's actual tags."""
        rules = self.cloud.config.tag_rules
        own = rules.own_shown(actual, plain_tags(state.get("tags")))
        return {**({"tags": own} if own else {}), "tagsAll": rules.all_shown(actual)}


def ignoring(ctx: Context, state: Props, news: Props) -> Props:
    """Returns inputs in which ignored ones are as AWS has them: the official plugin ignores drift, too."""
    return news | {name: state[name] for name in ctx.ignore_changes if name in state and name in news}


def known(props: Props, name: str) -> Any:
    """Returns a property that is set and known, else None."""
    value = props.get(name)
    return None if value is UNKNOWN else value


def is_set(props: Props, name: str) -> bool:
    """Tells whether a property has a value, or will have one."""
    value = props.get(name)
    return value is UNKNOWN or not is_zero(value)


def _touches(name: str, detailed: Mapping[str, Kind]) -> bool:
    return any(path == name or path.startswith((f"{name}.", f"{name}[")) for path in detailed)
