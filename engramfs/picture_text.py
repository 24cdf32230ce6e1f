"""A picture as text for other programs: DOT (Graphviz) and GraphML (Gephi, igraph, networkx)."""

from __future__ import annotations

from xml.etree import ElementTree

from engramfs.picture import Picture, colours, xml_text

_GRAPHML = "http://graphml.graphdrawing.org/xmlns"
_OF_NODES = (("kind", "string"), ("path", "string"), ("title", "string"), ("summary", "string"))
_PLACE = (("x", "double"), ("y", "double"))
_OF_EDGES = (("relation", "string"), ("note", "string"))


def dot(picture: Picture) -> str:
    """The picture as a DOT digraph. Nodes are named by id."""
    kinds = colours(picture.nodes)
    lines = [
        "digraph engrams {",
        f"  label={_quoted(picture.about)};",
        '  node [shape=ellipse, style=filled, fontcolor="#ffffff", color="#ffffff"];',
        '  edge [color="#8a8f98"];',
    ]
    for node in picture.nodes:
        lines.append(
            f"  {_quoted(node.id)} [label={_quoted(node.label)}, kind={_quoted(node.kind)}, "
            f"tooltip={_quoted(node.path or node.id)}, fillcolor={_quoted(kinds[node.kind][0])}];"
        )
    for tie in picture.ties:
        source, target = picture.nodes[tie.source].id, picture.nodes[tie.target].id
        note = f", tooltip={_quoted(tie.note)}" if tie.note else ""
        label = _quoted(tie.relation)
        lines.append(f"  {_quoted(source)} -> {_quoted(target)} [label={label}{note}];")
    return "\n".join([*lines, "}"]) + "\n"


def _quoted(text: str) -> str:
    """A quoted string of DOT. In labels a backslash begins an escape and `&` an entity."""
    text = xml_text(text).replace("\\", "\\\\").replace("&", "&amp;").replace('"', '\\"')
    return f'"{" ".join(text.split())}"'


def graphml(picture: Picture) -> str:
    """The picture as GraphML, with the place of each node. Nodes are named by id."""
    root = ElementTree.Element("graphml", xmlns=_GRAPHML)
    for owner, keys in (("node", (*_OF_NODES, *_PLACE)), ("edge", _OF_EDGES)):
        for name, type_ in keys:
            about = {"id": name, "for": owner, "attr.name": name, "attr.type": type_}
            ElementTree.SubElement(root, "key", about)
    graph = ElementTree.SubElement(root, "graph", edgedefault="directed")
    for node, place in zip(picture.nodes, picture.places, strict=True):
        element = ElementTree.SubElement(graph, "node", id=node.id)
        for name, _ in _OF_NODES:
            _data(element, name, getattr(node, name))
        for (name, _), value in zip(_PLACE, place, strict=True):
            _data(element, name, repr(value))
    for tie in picture.ties:
        source, target = picture.nodes[tie.source].id, picture.nodes[tie.target].id
        element = ElementTree.SubElement(graph, "edge", source=source, target=target)
        for name, _ in _OF_EDGES:
            _data(element, name, getattr(tie, name))
    ElementTree.indent(root, " ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, "unicode") + "\n"


def _data(element: ElementTree.Element, key: str, value: str) -> None:
    if value:
        ElementTree.SubElement(element, "data", key=key).text = xml_text(value)
