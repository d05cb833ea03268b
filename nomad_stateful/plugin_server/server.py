"""The process of a plugin: a gRPC server that the Pulumi engine starts and ends."""

import logging
import os
import sys
import threading

import grpc

from nomad_stateful.plugin_server.ending import Ending
from nomad_stateful.plugin_server.engine_log import GRPC_OPTIONS, EngineLog
from nomad_stateful.plugin_server.peers import OwnUserOnly
from nomad_stateful.plugin_server.plugin import Plugin
from nomad_stateful.plugin_server.servicer import Servicer
from nomad_stateful.plugin_server.stubs import provider_pb2_grpc
from nomad_stateful.plugin_server.workers import Workers

# The engine runs as many operations at once as it is told to, and each wait holds a thread: Cancel must still get one.
MAX_THREADS = 256
STOP_GRACE_S = 5.0


def serve(plugin: Plugin) -> None:
    """Serves the plugin until its parent, the engine, ends it or is gone. Prints the port as its first line."""
    logging.getLogger("grpc").setLevel(logging.CRITICAL)
    engine = EngineLog(sys.argv[1] if len(sys.argv) > 1 else "")
    servicer = Servicer(plugin, engine)
    workers = Workers(MAX_THREADS)
    gate = OwnUserOnly()
    server = grpc.server(workers, interceptors=[gate], options=GRPC_OPTIONS)
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    if not port:
        raise SystemExit(f"the {plugin.name} plugin cannot listen on 127.0.0.1")
    gate.port = port
    server.start()
    ending = Ending()
    print(port, flush=True)
    threading.Thread(target=plugin.prepare, daemon=True).start()
    ending.wait()
    servicer.cancelled.set()
    if workers.busy:  # otherwise the engine would wait for gRPC's own half a second
        server.stop(STOP_GRACE_S).wait()
    sys.stdout.flush()
    os._exit(0)  # a worker thread in a request that cannot be interrupted must not hold the process
