"""The volumes of a group's members, which are registered one after the other."""

import asyncio
from itertools import pairwise
from types import TracebackType

import pulumi

from nomad_stateful.components.database_group import DatabaseGroup, DatabaseGroupArgs, in_turn


class Turns:
    """What the volume of each member waits for: that the member before serves.

    A registration that is replaced has its member stopped first. The engine would replace all of them at once.
    """

    def __init__(self, group: DatabaseGroupArgs | None) -> None:
        volumes = in_turn([str(one["volume_id"]) for one in group["volumes"]]) if group else []
        self.of_volumes: dict[str, asyncio.Future[pulumi.Resource]] = {one: asyncio.Future() for one in volumes[1:]}

    def __enter__(self) -> "Turns":
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _at: TracebackType | None
    ) -> None:
        """Ends the wait for what was not made, with the program's error.

        The engine's requests are awaited before that is told, and the first of theirs is told in its place.
        """
        for turn in self.of_volumes.values():
            if not turn.done():
                turn.set_exception(error or RuntimeError("the group's members were not made"))

    def made(self, group: DatabaseGroup) -> None:
        """Says what the members are."""
        for (earlier, _), turn in zip(pairwise(group.members), self.of_volumes.values(), strict=True):
            turn.set_result(earlier)
