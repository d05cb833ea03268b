"""What leads from Nomad's address to the servers, where there are several: connections go to the first that answers.

It is a load balancer of TCP, so TLS passes through it. A server that stops answering has its connections closed, and
their clients connect anew.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field
from typing import Final

from nomad_stateful.nomad.api import NomadApi, NomadError
from sandbox.cluster import tls
from sandbox.settings import SandboxSettings, load_settings

_CHECK_EVERY_S: Final = 0.5
_ANSWER_S: Final = 2.0
_CHUNK: Final = 65536


@dataclass
class _Server:
    address: str
    api: NomadApi
    answers: bool = False
    connections: set[asyncio.StreamWriter] = field(default_factory=set)

    async def watch(self) -> None:
        """Looks whether it answers, for ever."""
        while True:
            await asyncio.sleep(_CHECK_EVERY_S)
            await self.look()

    async def look(self) -> None:
        """Closes its connections where it does not answer."""
        self.answers = await asyncio.to_thread(self._is_there)
        if not self.answers:
            for writer in list(self.connections):
                writer.transport.abort()

    def _is_there(self) -> bool:
        with contextlib.suppress(NomadError):
            # Its own knowledge: one that has lost the others answers too, and its clients are told that no one leads.
            self.api.get("status/leader", timeout_s=_ANSWER_S, stale="")
            return True
        return False


async def serve(settings: SandboxSettings) -> None:
    """Serves Nomad's address for as long as it runs."""
    servers = [_Server(str(one.address), tls.connect(settings, server=one)) for one in settings.nomad_servers]

    async def lead(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server = next((one for one in servers if one.answers), None)
        try:
            if server is not None:
                await _join(server, settings.nomad_http_port, reader, writer)
        finally:
            writer.close()

    await asyncio.gather(*(one.look() for one in servers))
    listening = await asyncio.start_server(lead, str(settings.gateway), settings.nomad_http_port)
    async with listening:
        await asyncio.gather(*(one.watch() for one in servers))


async def _join(server: _Server, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Passes bytes both ways until either side ends."""
    with contextlib.suppress(OSError, TimeoutError):
        there = asyncio.open_connection(server.address, port)
        up_reader, up_writer = await asyncio.wait_for(there, _ANSWER_S)
        server.connections |= {writer, up_writer}
        ways = [asyncio.create_task(_pass(reader, up_writer)), asyncio.create_task(_pass(up_reader, writer))]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            server.connections -= {writer, up_writer}
            up_writer.close()


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(_CHUNK):
            writer.write(data)
            await writer.drain()


if __name__ == "__main__":
    asyncio.run(serve(load_settings()))
