"""A resource's life as the engine leads it: check, diff and the operation that follows, with the state in between."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.providers.harness import DiffResult, PluginProcess


@dataclass
class Life:
    """One resource of the stack; `inputs` and `state` are what the engine keeps of it."""

    plugin: PluginProcess
    token: str
    name: str = "it"
    id: str = ""
    inputs: dict[str, Any] = field(default_factory=dict)
    state: dict[str, Any] = field(default_factory=dict)

    def checked(self, news: dict[str, Any]) -> dict[str, Any]:
        result = self.plugin.check(self.token, news, self.inputs, self.name)
        assert result.failures == []
        return result.inputs.props

    def refused(self, news: dict[str, Any]) -> str:
        """Why the inputs are refused."""
        failures = self.plugin.check(self.token, news, self.inputs, self.name).failures
        assert failures, f"{news} was accepted"
        return "\n".join(reason for _, reason in failures)

    def create(self, news: dict[str, Any]) -> Life:
        inputs = self.checked(news)
        made = self.plugin.create(self.token, inputs, self.name)
        self.id, self.inputs, self.state = made.id, inputs, made.outputs.props
        return self

    def diff(self, news: dict[str, Any]) -> DiffResult:
        return self.plugin.diff(self.token, self.id, self.state, self.inputs, self.checked(news), self.name)

    def update(self, news: dict[str, Any]) -> Life:
        inputs = self.checked(news)
        made = self.plugin.update(self.token, self.id, self.state, self.inputs, inputs, self.name)
        self.inputs, self.state = inputs, made.outputs.props
        return self

    def refresh(self) -> bool:
        """Take over what is really there; False when the resource is gone."""
        read = self.plugin.read(self.token, self.id, self.inputs, self.state, self.name)
        if read is None:
            return False
        self.inputs, self.state = read.inputs.props, read.outputs.props
        return True

    def import_(self, id: str) -> bool:
        read = self.plugin.read(self.token, id, name=self.name)
        if read is None:
            return False
        self.id, self.inputs, self.state = read.id, read.inputs.props, read.outputs.props
        return True

    def delete(self, timeout_s: float = 0) -> None:
        self.plugin.delete(self.token, self.id, self.state, self.name, timeout_s)
