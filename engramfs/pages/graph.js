// Draws the graph that stands in the page, and answers: search, click, kinds on and off.
// The address tells what is shown: #search=words shows the best match, #id=… that engram.
// Texts go into the document as text only (`textContent`), never as markup.
"use strict";
(() => {
  const drawing = JSON.parse(document.getElementById("drawing").textContent);
  const kinds = drawing.kinds.map(([name, colour, count]) => ({ name, colour, count, shown: true }));
  const engrams = drawing.nodes.map(([id, kind, path, title, summary, x, y]) => ({
    id, kind: kinds[kind], path, title, summary, x, y, label: title || path || id, ties: [],
  }));
  const ties = drawing.ties.map(([source, target, relation, note]) => ({
    source, target, relation: drawing.relations[relation], note,
  }));
  ties.forEach((tie, at) => {
    engrams[tie.source].ties.push(at);
    engrams[tie.target].ties.push(at);
  });
  const placeOf = new Map(engrams.map((engram, at) => [engram.id, at]));
  const most = engrams.reduce((so_far, engram) => Math.max(so_far, engram.ties.length), 1);

  const $ = (id) => document.getElementById(id);
  const MATCHES = 30; // listed; all of them are lit
  const TIES = 200; // listed of one engram
  const ARROWS = 2000; // of more edges only those of the selected engram have a head
  const LABEL = 42; // characters
  let selected = null; // the place of an engram
  let matches = null; // a set of places, or null where nothing is searched for
  let renderer = null;

  // -- what is lit -----------------------------------------------------------------
  let lit = null; // a set of places; null: everything
  function light() {
    if (selected !== null) {
      lit = new Set([selected]);
      for (const at of engrams[selected].ties) lit.add(ties[at].source).add(ties[at].target);
    } else {
      lit = matches;
    }
    if (renderer) renderer.refresh();
  }

  // -- drawing ---------------------------------------------------------------------
  const colour = {};
  function readColours() {
    const style = getComputedStyle(document.documentElement);
    for (const name of ["ground", "card", "line", "ink", "soft", "tie", "faint", "strong"])
      colour[name] = style.getPropertyValue(`--${name}`).trim();
  }

  function radius(engram) {
    const base = engrams.length <= 100 ? 5 : engrams.length <= 1000 ? 3.5 : 2;
    return base + (engrams.length <= 1000 ? 9 : 11) * Math.sqrt(engram.ties.length / most);
  }

  function shownNode(key, node) {
    const at = Number(key);
    const engram = engrams[at];
    if (!engram.kind.shown) return { ...node, hidden: true };
    if (lit === null) return node;
    if (!lit.has(at)) return { ...node, color: colour.faint, label: null, zIndex: 0 };
    const few = lit.size <= 40 || at === selected;
    return { ...node, zIndex: 2, forceLabel: few, highlighted: at === selected };
  }

  function shownTie(key, edge) {
    const tie = ties[Number(key)];
    if (!engrams[tie.source].kind.shown || !engrams[tie.target].kind.shown)
      return { ...edge, hidden: true };
    if (selected !== null && (tie.source === selected || tie.target === selected))
      return { ...edge, type: "arrow", color: colour.strong, size: 1.6, zIndex: 1 };
    if (lit === null) return edge;
    return ties.length > ARROWS ? { ...edge, hidden: true } : { ...edge, color: colour.faint };
  }

  function drawLabel(context, node, settings) {
    if (!node.label) return;
    context.font = `${settings.labelSize}px ${settings.labelFont}`;
    context.lineJoin = "round";
    context.lineWidth = 3.5;
    context.strokeStyle = colour.ground;
    context.fillStyle = colour.ink;
    const at = [node.x + node.size + 3, node.y + settings.labelSize / 3];
    context.strokeText(node.label, ...at);
    context.fillText(node.label, ...at);
  }

  function drawHover(context, node, settings) {
    context.font = `600 ${settings.labelSize}px ${settings.labelFont}`;
    const text = node.label || "";
    const width = context.measureText(text).width;
    const height = settings.labelSize + 10;
    context.fillStyle = colour.card;
    context.strokeStyle = colour.line;
    context.beginPath();
    context.roundRect(node.x + node.size + 2, node.y - height / 2, width + 14, height, 6);
    context.fill();
    context.stroke();
    context.beginPath();
    context.arc(node.x, node.y, node.size + 3, 0, 2 * Math.PI);
    context.strokeStyle = colour.strong;
    context.lineWidth = 2;
    context.stroke();
    context.fillStyle = colour.ink;
    context.fillText(text, node.x + node.size + 9, node.y + settings.labelSize / 3);
  }

  function draw() {
    const graph = new graphology.MultiDirectedGraph();
    engrams.forEach((engram, at) =>
      graph.addNode(at, {
        x: engram.x, y: engram.y, color: engram.kind.colour,
        label: engram.label.length > LABEL ? `${engram.label.slice(0, LABEL - 1)}…` : engram.label,
        size: radius(engram), zIndex: 1,
      }));
    const thickness = ties.length > ARROWS ? 0.5 : 1.2;
    ties.forEach((tie, at) => graph.addEdgeWithKey(at, tie.source, tie.target, { size: thickness }));
    renderer = new Sigma(graph, $("stage"), {
      allowInvalidContainer: true,
      enableCameraRotation: false,
      hideEdgesOnMove: ties.length > 20000,
      labelFont: getComputedStyle(document.body).fontFamily,
      labelSize: 12,
      defaultEdgeColor: colour.tie,
      defaultEdgeType: ties.length > ARROWS ? "line" : "arrow",
      labelDensity: 0.7,
      labelGridCellSize: 140,
      labelRenderedSizeThreshold: engrams.length <= 60 ? 0 : 6,
      minEdgeThickness: thickness,
      minCameraRatio: 0.002,
      maxCameraRatio: 5,
      zIndex: true,
      nodeReducer: shownNode,
      edgeReducer: shownTie,
      defaultDrawNodeLabel: drawLabel,
      defaultDrawNodeHover: drawHover,
    });
    renderer.on("clickNode", ({ node }) => select(Number(node), false));
    renderer.on("clickStage", () => select(null));
    renderer.on("enterNode", () => { $("stage").style.cursor = "pointer"; });
    renderer.on("leaveNode", () => { $("stage").style.cursor = ""; });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      readColours();
      renderer.setSetting("defaultEdgeColor", colour.tie);
      renderer.refresh();
    });
  }

  function move(state) {
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    renderer.getCamera().animate(state, { duration: still ? 1 : 350 });
  }

  function lookAt(place) {
    if (!renderer) return;
    const { x, y } = renderer.getNodeDisplayData(place);
    const close = engrams.length > 1000 ? 0.12 : engrams.length > 100 ? 0.4 : 1;
    move({ x, y, ratio: Math.min(renderer.getCamera().ratio, close) });
  }

  // -- an engram -------------------------------------------------------------------
  function make(tag, name, text) {
    const element = document.createElement(tag);
    if (name) element.className = name;
    if (text !== undefined) element.textContent = text;
    return element;
  }

  function dot(kind) {
    const element = make("span", "dot");
    element.style.background = kind.colour;
    return element;
  }

  function button(place, ...content) {
    const element = make("button");
    element.append(...content);
    element.addEventListener("click", () => select(place));
    const item = make("li");
    item.append(element);
    return item;
  }

  function listed(heading, found, other, arrow) {
    if (!found.length) return [];
    const list = make("ul");
    for (const tie of found.slice(0, TIES)) {
      const engram = engrams[tie[other]];
      const title = make("span", "title");
      title.append(dot(engram.kind), engram.label);
      const said = [make("span", "relation", `${arrow} ${tie.relation}`), title];
      if (tie.note) said.push(make("span", "note", tie.note));
      list.append(button(tie[other], ...said));
    }
    if (found.length > TIES) list.append(make("li", "path", `and ${found.length - TIES} more`));
    return [make("h3", "", `${heading} (${found.length})`), list];
  }

  function show(place) {
    const card = $("engram");
    card.hidden = place === null;
    card.replaceChildren();
    if (place === null) return;
    const engram = engrams[place];
    const close = make("button", "close", "×");
    close.title = "Close";
    close.addEventListener("click", () => select(null));
    const kind = make("p");
    kind.append(dot(engram.kind), engram.kind.name);
    const of = engram.ties.map((at) => ties[at]);
    card.append(
      close, make("h2", "", engram.label), kind, make("p", "path", engram.path || engram.id));
    if (engram.summary) card.append(make("p", "summary", engram.summary));
    card.append(
      ...listed("Leads to", of.filter((tie) => tie.source === place), "target", "→"),
      ...listed("Linked from", of.filter((tie) => tie.target === place), "source", "←"));
    if (!of.length) card.append(make("h3", "", "No edges in this picture"));
  }

  function select(place, look = true) {
    selected = place;
    show(place);
    light();
    if (place !== null && look) lookAt(place);
    history.replaceState(null, "", place === null ? "#" : `#id=${engrams[place].id}`);
  }

  // -- search ----------------------------------------------------------------------
  const fold = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  let folded = null; // made when first searched
  function search(written) {
    const words = fold(written).split(/\s+/).filter(Boolean);
    folded ??= engrams.map((engram) => fold(`${engram.title} ${engram.path} ${engram.id}`));
    const places = [];
    if (words.length)
      folded.forEach((text, at) => { if (words.every((word) => text.includes(word))) places.push(at); });
    const first = (at) => (folded[at].startsWith(words[0]) ? 0 : 1); // else the most linked first
    places.sort((a, b) => first(a) - first(b) || a - b);
    matches = words.length ? new Set(places) : null;
    $("found").textContent = words.length
      ? `${places.length.toLocaleString("en")} found` : "";
    $("results").replaceChildren(...places.slice(0, MATCHES).map((at) => {
      const title = make("span", "title");
      title.append(dot(engrams[at].kind), engrams[at].label);
      return button(at, title, make("span", "path", engrams[at].path || engrams[at].id));
    }));
    return places;
  }

  // -- the page --------------------------------------------------------------------
  function legend() {
    for (const kind of kinds) {
      const entry = make("button");
      entry.title = "Show or hide";
      entry.setAttribute("aria-pressed", "true");
      entry.append(dot(kind), kind.name, make("span", "count", kind.count.toLocaleString("en")));
      entry.addEventListener("click", () => {
        kind.shown = !kind.shown;
        entry.setAttribute("aria-pressed", String(kind.shown));
        light();
      });
      $("kinds").append(entry);
    }
  }

  function follow() {
    const asked = new URLSearchParams(location.hash.slice(1));
    if (asked.has("search")) {
      $("search").value = asked.get("search");
      const [best] = search(asked.get("search"));
      if (best !== undefined) select(best);
      else { selected = null; show(null); light(); }
    } else if (placeOf.has(asked.get("id"))) {
      select(placeOf.get(asked.get("id")));
    }
  }

  readColours();
  legend();
  try {
    draw();
    document.documentElement.dataset.drawn = "yes";
  } catch (error) {
    $("trouble").textContent =
      `The graph cannot be drawn here: ${error.message}. It needs a browser with WebGL. ` +
      "Search and the engrams' edges work all the same.";
    $("trouble").hidden = false;
    document.documentElement.dataset.drawn = "no";
  }
  $("search").addEventListener("input", (event) => {
    search(event.target.value);
    if (selected !== null) select(null);
    else light();
  });
  $("search").addEventListener("keydown", (event) => {
    const best = matches && [...matches][0];
    if (event.key === "Enter" && best !== null && best !== undefined) select(best);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && event.target !== $("search")) {
      event.preventDefault();
      $("search").focus();
    } else if (event.key === "Escape") {
      $("search").value = "";
      search("");
      select(null);
    }
  });
  $("in").addEventListener("click", () => renderer && renderer.getCamera().animatedZoom());
  $("out").addEventListener("click", () => renderer && renderer.getCamera().animatedUnzoom());
  $("all").addEventListener("click", () => renderer && renderer.getCamera().animatedReset());
  addEventListener("hashchange", follow);
  follow();
})();
