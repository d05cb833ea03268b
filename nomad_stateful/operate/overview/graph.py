"""The overview as a graph: zones, their clients and volumes, and the consumers; as Mermaid and as SVG."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal

from nomad_stateful.operate.overview.facts import Overview, VolumeLine
from nomad_stateful.operate.overview.screen import use

Kind = Literal["job", "client", "volume"]


@dataclass(frozen=True)
class Node:
    """A client, a volume or a consumer."""

    kind: Kind
    name: str
    detail: str
    zone: str
    wrong: bool = False


@dataclass(frozen=True)
class Edge:
    """Which consumer claims a volume, and on which client the volume is."""

    source: tuple[Kind, str]
    target: tuple[Kind, str]
    text: str


@dataclass(frozen=True)
class Graph:
    """What is drawn."""

    nodes: Sequence[Node]
    edges: Sequence[Edge]

    def zones(self) -> list[str]:
        """Returns the zones, sorted; "" is that of what has none."""
        return sorted({node.zone for node in self.nodes if node.kind != "job"})

    def within(self, zone: str, kind: Kind) -> list[Node]:
        """Returns what is in a zone."""
        return [node for node in self.nodes if node.zone == zone and node.kind == kind]


def graph(overview: Overview) -> Graph:
    """Returns the stack as a graph."""
    wrong = {who for who, _ in overview.problems()}
    nodes = [Node("job", one.job_id, f"{one.running} running", "", one.job_id in wrong) for one in overview.jobs]
    nodes += [Node("client", one.name, one.state, one.zone, one.state != "ready") for one in overview.clients]
    nodes += [
        Node("volume", one.volume.name, _detail(one), one.zone, one.volume.name in wrong) for one in overview.volumes
    ]
    return Graph(nodes, list(dict.fromkeys(_edges(overview))))


def _detail(line: VolumeLine) -> str:
    part = use(line).text
    return ", ".join(text for text in (line.size, f"{part} used" if part != "-" else "") if text)


def _edges(overview: Overview) -> Iterator[Edge]:
    jobs, clients = {one.job_id for one in overview.jobs}, {one.name for one in overview.clients}
    instances = {one.instance_id: one.name for one in overview.clients if one.instance_id}
    for line in overview.volumes:
        usage, name = line.volume.usage, line.volume.name
        for claim in usage.claims:
            if claim.job_id in jobs:
                yield Edge(("job", claim.job_id), ("volume", name), "claims")
        attached = usage.attached.attachments if usage.attached else ()
        for item in attached:
            if item.instance_id in instances:
                yield Edge(("volume", name), ("client", instances[item.instance_id]), item.state)
        for claim in () if usage.attached else usage.claims:
            if claim.node_name in clients:
                yield Edge(("volume", name), ("client", claim.node_name), "mounted")


def mermaid(found: Graph) -> str:
    """Returns a flowchart. https://mermaid.js.org/syntax/flowchart.html"""
    ids = {(node.kind, node.name): f"n{number}" for number, node in enumerate(found.nodes)}
    lines = ["flowchart LR"]
    lines += [f"  {_shape(ids, node)}" for node in found.nodes if node.kind == "job"]
    for number, zone in enumerate(found.zones()):
        lines.append(f'  subgraph z{number}["{_label(zone or "no zone")}"]')
        lines += [f"    {_shape(ids, node)}" for kind in ("volume", "client") for node in found.within(zone, kind)]
        lines.append("  end")
    lines += [f'  {ids[edge.source]} -- "{_label(edge.text)}" --> {ids[edge.target]}' for edge in found.edges]
    wrong = [ids[node.kind, node.name] for node in found.nodes if node.wrong]
    if wrong:
        lines += ["  classDef wrong stroke:#d33,stroke-width:3px", f"  class {','.join(wrong)} wrong"]
    return "\n".join(lines)


def _shape(ids: dict[tuple[Kind, str], str], node: Node) -> str:
    opening, closing = {"job": ('(["', '"])'), "client": ('["', '"]'), "volume": ('[("', '")]')}[node.kind]
    detail = f"<br/>{_label(node.detail)}" if node.detail else ""
    return f"{ids[node.kind, node.name]}{opening}{_label(node.name)}{detail}{closing}"


def _label(text: str) -> str:
    return text.replace('"', "#quot;").replace("<", "#lt;").replace(">", "#gt;")


_BOX, _TALL, _GAP, _PAD, _HEAD = 190, 44, 18, 16, 26
_FILL = {"job": "#dcefe0", "client": "#e8eaf0", "volume": "#fdf0d5"}


def svg(found: Graph) -> str:
    """Returns a drawing: consumers on the left, then a block for each zone with its volumes and clients."""
    at: dict[tuple[Kind, str], tuple[int, int]] = {}
    blocks, y = [], _PAD
    volumes_x, clients_x = _PAD + _BOX + 70, _PAD + 2 * _BOX + 140
    for zone in found.zones():
        inside = [found.within(zone, "volume"), found.within(zone, "client")]
        height = _HEAD + max(len(nodes) for nodes in inside) * (_TALL + _GAP)
        blocks.append(_block(zone or "no zone", volumes_x - _PAD, y, 2 * _BOX + 70 + 2 * _PAD, height))
        for nodes, x in zip(inside, (volumes_x, clients_x), strict=True):
            for number, node in enumerate(nodes):
                at[node.kind, node.name] = (x, y + _HEAD + number * (_TALL + _GAP))
        y += height + _GAP
    jobs = [node for node in found.nodes if node.kind == "job"]
    for number, node in enumerate(jobs):
        at[node.kind, node.name] = (_PAD, _PAD + _HEAD + number * (_TALL + _GAP))
    width = clients_x + _BOX + 2 * _PAD
    height = max(y, _PAD + _HEAD + len(jobs) * (_TALL + _GAP) + _PAD)
    drawn = [*blocks, *(_line(at, edge) for edge in found.edges), *(_box(at, node) for node in found.nodes)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'role="img" aria-label="the stack" font-family="system-ui,sans-serif" font-size="13">\n'
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>\n' + "\n".join(drawn) + "\n</svg>\n"
    )


def _block(zone: str, x: int, y: int, width: int, height: int) -> str:
    return (
        f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="8" fill="none" stroke="#9aa3b2" '
        f'stroke-dasharray="4 3"/><text x="{x + 10}" y="{y + 18}" fill="#5a6272">{escape(zone)}</text>'
    )


def _box(at: dict[tuple[Kind, str], tuple[int, int]], node: Node) -> str:
    x, y = at[node.kind, node.name]
    stroke = 'stroke="#d33333" stroke-width="3"' if node.wrong else 'stroke="#5a6272"'
    return (
        f'<rect x="{x}" y="{y}" width="{_BOX}" height="{_TALL}" rx="6" fill="{_FILL[node.kind]}" {stroke}/>'
        f'<text x="{x + 10}" y="{y + 18}" font-weight="bold">{escape(node.name)}</text>'
        f'<text x="{x + 10}" y="{y + 35}" fill="#5a6272">{escape(node.detail)}</text>'
    )


def _line(at: dict[tuple[Kind, str], tuple[int, int]], edge: Edge) -> str:
    (x1, y1), (x2, y2) = at[edge.source], at[edge.target]
    start, end, y1, y2 = x1 + _BOX, x2, y1 + _TALL // 2, y2 + _TALL // 2
    return (
        f'<line x1="{start}" y1="{y1}" x2="{end}" y2="{y2}" stroke="#5a6272"/>'
        f'<text x="{(start + end) // 2}" y="{(y1 + y2) // 2 - 4}" text-anchor="middle" font-size="11" '
        f'fill="#5a6272">{escape(edge.text)}</text>'
    )
