// The page of a running job. It requests the graph once, and the figures every second.

const NONE = "-";
const SVG = "http://www.w3.org/2000/svg";
const PHASES = ["plan", "read", "process", "commit"];
const BATCHES = 90;
const KEPT = 400;
const MANY_EDGES = 60;
const SMALLEST = 14;  // px, the smallest text of a card
const READABLE = 11;  // px, on the screen
const FAR = READABLE / SMALLEST;
const [LOWEST, HIGHEST] = [360, 1000];  // px, the height of the graph's panel
const MARGIN = { left: 40, top: 26, right: 40, bottom: 46 };
const element = (id) => document.getElementById(id);

// Formats of numbers, sizes and times.

function formatCount(number) {
  if (number === null || number === undefined) return NONE;
  const size = Math.abs(number);
  for (const [limit, divisor, unit] of [[1e9, 1e9, "G"], [1e6, 1e6, "M"], [1e4, 1e3, "k"]]) {
    if (size >= limit) {
      const scaled = number / divisor;
      const shown = Math.abs(scaled) >= 100 ? scaled.toFixed(0) : scaled.toPrecision(3);
      return shown + unit;
    }
  }
  if (size > 0 && size < 10 && !Number.isInteger(number)) return number.toFixed(1);
  return Math.round(number).toLocaleString("en");
}

function formatBytes(size) {
  if (size === null || size === undefined) return NONE;
  for (const [limit, unit] of [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]]) {
    if (size >= limit) {
      const scaled = size / limit;
      return `${scaled < 1000 ? Number(scaled.toPrecision(3)) : Math.round(scaled)} ${unit}`;
    }
  }
  return `${size} B`;
}

function formatDuration(ms) {
  if (ms === null || ms === undefined) return NONE;
  if (ms < 0) return `-${formatDuration(-ms)}`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60000) return `${(ms / 1000).toFixed(1)} s`;
  const minutes = Math.floor(Math.round(ms / 1000) / 60);
  if (minutes < 60) return `${minutes} min ${Math.round(ms / 1000) % 60} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} days`;
}

function formatMoment(ms) {
  if (ms === null || ms === undefined) return "no watermark";
  if (ms === "end") return "end of the input";
  return new Date(ms).toISOString().replace("T", " ").slice(0, 19);
}

const formatBehind = (watermark, now) =>
  typeof watermark === "number" ? formatDuration(now - watermark) : watermark === "end" ? "end" : NONE;

const ruler = document.createElement("canvas").getContext("2d");
const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif";

// The text, cut to a width in px.
function cut(text, width, font) {
  ruler.font = `${font} ${FONT}`;
  if (ruler.measureText(text).width <= width) return text;
  let end = text.length;
  while (end > 1 && ruler.measureText(`${text.slice(0, end)}…`).width > width) end -= 1;
  return `${text.slice(0, end).trimEnd()}…`;
}
const heat = (busy) => (busy < 0.6 ? "ok" : busy < 0.85 ? "warm" : "hot");

// Setters that change the document only if the value differs.

function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

function setAttribute(node, name, value) {
  const text = String(value);
  if (node.getAttribute(name) !== text) node.setAttribute(name, text);
}

function make(parent, name, attributes = {}, text = null) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text !== null) node.textContent = text;
  parent.append(node);
  return node;
}

function makeHtml(parent, name, text = null, kind = "") {
  const node = document.createElement(name);
  if (text !== null) node.textContent = text;
  if (kind) node.className = kind;
  parent.append(node);
  return node;
}

// The colors of the theme, cached: reading a style after each change would force a new layout.
const palette = new Map();
function color(name) {
  if (!palette.has(name)) {
    palette.set(name, getComputedStyle(document.documentElement).getPropertyValue(`--${name}`));
  }
  return palette.get(name);
}

// The data of the server.

const page = {
  job: null, graph: null, state: null, batches: [], chosen: null, shownFailures: "",
};
let token = new URLSearchParams(location.hash.slice(1)).get("token");
if (token) {
  sessionStorage.setItem("headrace-token", token);
  history.replaceState(null, "", location.pathname + location.search);
} else {
  token = sessionStorage.getItem("headrace-token");
}

async function ask(path) {
  const bytes = [...new TextEncoder().encode(token || "")].map((byte) => String.fromCharCode(byte));
  const headers = token ? { Authorization: `Bearer ${bytes.join("")}` } : {};
  const answer = await fetch(path, { headers });
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  return answer.json();
}

// The graph.

const rows = new Map();
const edges = [];
const view = { x: 0, y: 0, scale: 1, fitted: true };
const svg = element("graph");
const world = make(svg, "g");

function routePath(points) {
  let path = `M${points[0][0]} ${points[0][1]}`;
  for (let at = 1; at < points.length; at += 1) {
    const [x0, y0] = points[at - 1];
    const [x, y] = points[at];
    const bend = Math.max((x - x0) / 2, 24);
    path += ` C${x0 + bend} ${y0} ${x - bend} ${y} ${x} ${y}`;
  }
  return path;
}

function drawGraph(graph) {
  world.replaceChildren();
  rows.clear();
  edges.length = 0;
  const { width, row, padding } = graph.card;
  const byId = new Map(graph.operators.map((each) => [each.id, each]));
  const places = new Map();
  for (const vertex of graph.vertices) {
    vertex.operators.forEach((id, index) => {
      places.set(id, { vertex, index, x: vertex.x, y: vertex.y + padding + index * row });
    });
  }
  const edgeLayer = make(world, "g");
  const cardLayer = make(world, "g");
  const innerLayer = make(world, "g");
  const labelLayer = make(world, "g");
  const few = graph.edges.filter((edge) => edge.points).length <= MANY_EDGES;
  graph.edges.forEach((edge, number) => {
    const from = places.get(edge.source);
    const to = places.get(edge.target);
    if (!edge.points) {
      edges.push(null);
      if (to.index - from.index > 1) {
        const x = from.x + 7;
        const y0 = from.y + row * 0.5;
        const y1 = to.y + row * 0.5;
        make(innerLayer, "path", { class: "inner", d: `M${x} ${y0} C${x - 14} ${y0} ${x - 14} ${y1} ${x} ${y1}` });
      }
      return;
    }
    const d = routePath(edge.points);
    const line = make(edgeLayer, "path", { class: "edge", d });
    const title = make(line, "title");
    const flow = few ? make(edgeLayer, "path", { class: "edge-flow", d }) : null;
    const middle = Math.floor((edge.points.length - 1) / 2);
    const [[xa, ya], [xb, yb]] = [edge.points[middle], edge.points[middle + 1]];
    const label = make(labelLayer, "g", { class: "edge-label", "data-edge": number, transform: `translate(${(xa + xb) / 2} ${(ya + yb) / 2})` });
    const rate = make(label, "text", { y: -7 });
    const time = make(label, "text", { class: "time", y: 17 });
    edges.push({ number, edge, line, title, flow, rate, time });
  });
  for (const vertex of graph.vertices) {
    const card = make(cardLayer, "g", { transform: `translate(${vertex.x} ${vertex.y})` });
    const box = make(card, "rect", { class: "card-box", width, height: vertex.height, rx: 12 });
    vertex.operators.forEach((id, index) => {
      const operator = byId.get(id);
      const top = padding + index * row;
      if (index) make(card, "line", { class: "divider", x1: 14, x2: width - 14, y1: top, y2: top });
      const group = make(card, "g", { class: "row", tabindex: 0, role: "button", "data-id": id, transform: `translate(0 ${top})` });
      make(group, "rect", { class: "row-back", x: 4, width: width - 8, height: row, rx: 8 });
      make(group, "title", {}, operator.name);
      const first = index === 0 && operator.kind !== "sink";
      make(group, "text", { class: "label", x: 16, y: 20 }, cut(operator.name, width - (first ? 72 : 32), "600 15px"));
      const parts = {
        operator,
        vertex,
        group,
        rate: make(group, "text", { class: "rate", x: 16, y: 43 }, NONE),
        side: make(group, "text", { class: "side", x: width - 14, y: 36 }),
        behind: make(group, "text", { class: "side behind", x: width - 14, y: 52 }),
        far: make(group, "text", { class: "far", x: width - 14, y: 38 }, NONE),
        box,
        inputs: operator.kind === "sink" ? graph.edges.filter((edge) => edge.target === id).map((edge) => edge.source) : null,
        share: null,
        busy: null,
      };
      make(group, "text", { class: "far-label", x: 16, y: 38 }, cut(operator.name, width - 124, "650 22px"));
      if (first) {
        parts.share = make(group, "text", { class: "share", x: width - 14, y: 20 });
        make(group, "rect", { class: "busy-track", x: 16, y: 57, width: width - 30, height: 5, rx: 2.5 });
        parts.busy = make(group, "rect", { class: "busy", x: 16, y: 57, width: 0, height: 5, rx: 2.5 });
        parts.busyWidth = width - 30;
      }
      group.addEventListener("click", () => choose(id));
      group.addEventListener("keydown", (event) => {
        if (event.key === "Enter" || event.key === " ") choose(id);
      });
      rows.set(id, parts);
    });
  }
  fit();
}

function sideText(operator, kind) {
  const lost = operator.late + operator.bad;
  if (lost) return [`${formatCount(lost)} lost`, "side lost"];
  if (operator.pending !== null) {
    return [`${formatCount(operator.pending)} waiting`, operator.pending ? "side waiting" : "side"];
  }
  if (operator["state-bytes"] !== null) return [formatBytes(operator["state-bytes"]), "side"];
  if (operator["state-entries"] !== null) return [`${formatCount(operator["state-entries"])} keys`, "side"];
  if (kind === "sink") return [`${formatCount(operator.in)} written`, "side"];
  return ["", "side"];
}

// The watermark of an operator; of a sink, the least that the streams into it have.
function watermarkOf(parts, operators) {
  if (!parts.inputs) return operators[parts.operator.id].watermark;
  const found = parts.inputs.map((id) => operators[id].watermark);
  if (!found.length || found.includes(null)) return null;
  const times = found.filter((each) => each !== "end");
  return times.length ? Math.min(...times) : "end";
}

function behindText(watermark, now) {
  if (watermark === null) return "";
  return watermark === "end" ? "end of input" : `${formatBehind(watermark, now)} behind`;
}

function showFigures(state) {
  const far = svg.classList.contains("far-away");  // then only a few texts are visible
  for (const [id, parts] of rows) {
    const operator = state.operators[id];
    if (!operator) continue;
    const kind = parts.operator.kind;
    const rate = `${formatCount(kind === "sink" ? operator["in-rate"] : operator["out-rate"])}/s`;
    setText(far ? parts.far : parts.rate, rate);
    if (!far) {
      const [text, style] = sideText(operator, kind);
      setText(parts.side, text);
      setAttribute(parts.side, "class", style);
      setText(parts.behind, behindText(watermarkOf(parts, state.operators), state.now));
      setAttribute(parts.behind, "y", text ? 52 : 43);
    }
    if (parts.busy && operator.busy !== null) {
      const level = heat(operator.busy);
      setText(parts.share, `${Math.round(operator.busy * 100)} %`);
      setAttribute(parts.share, "class", `share ${level}`);
      setAttribute(parts.busy, "width", Math.round(parts.busyWidth * operator.busy * 10) / 10);
      setAttribute(parts.busy, "class", `busy ${level}`);
      setAttribute(parts.box, "class", `card-box ${level}`);
    }
  }
  for (const parts of edges) {
    if (!parts) continue;
    const rate = state["edge-rates"][parts.number];
    const source = state.operators[parts.edge.source];
    const known = rate === null || rate === undefined ? null : rate;
    const moving = (known === null ? source["out-rate"] : known) > 0;
    const width = known ? Math.min(3 + Math.log10(1 + known) * 2.1, 17) : 3;
    setAttribute(parts.line, "stroke-width", width.toFixed(1));
    setAttribute(parts.line, "class", moving ? "edge" : "edge quiet");
    if (!far) setText(parts.rate, known === null ? "" : `${formatCount(known)}/s`);
    if (!far) setText(parts.time, typeof source.watermark === "number" ? behindText(source.watermark, state.now) : "");
    setText(parts.title, [parts.edge.label, parts.edge.tag ? `side output ${parts.edge.tag}` : "", `watermark ${formatMoment(source.watermark)}`].filter(Boolean).join("\n"));
    if (parts.flow) {
      const running = state.status === "RUNNING" && moving;
      setAttribute(parts.flow, "class", `edge-flow${running ? " moves" : ""}${known > 5000 ? " fast" : ""}`);
      setAttribute(parts.flow, "stroke-width", Math.min(width * 0.6, 6).toFixed(1));
    }
  }
}

// Zooming and moving the graph.

function place() {
  world.setAttribute("transform", `translate(${view.x} ${view.y}) scale(${view.scale})`);
  const wasFar = svg.classList.contains("far-away");
  svg.classList.toggle("far-away", view.scale < FAR);
  if (wasFar !== view.scale < FAR && page.state && rows.size) showFigures(page.state);
}

function fit() {
  if (!page.graph || !page.graph.width) return;
  const { left, top, right, bottom } = MARGIN;
  const wide = Math.min((svg.getBoundingClientRect().width - left - right) / page.graph.width, 1.35);
  // High enough for texts that can be read, as far as the width allows.
  const height = Math.min(Math.max(page.graph.height * wide + top + bottom, LOWEST), HIGHEST);
  canvas.style.height = `${Math.round(height)}px`;
  const box = svg.getBoundingClientRect();
  const scale = Math.min(wide, (box.height - top - bottom) / Math.max(page.graph.height, 1));
  view.scale = Math.max(scale, 0.04);
  view.x = left + (box.width - left - right - page.graph.width * view.scale) / 2;
  view.y = top + (box.height - top - bottom - page.graph.height * view.scale) / 2;
  view.fitted = true;
  place();
}

function zoom(factor, x, y) {
  const scale = Math.min(Math.max(view.scale * factor, 0.04), 3);
  view.x = x - ((x - view.x) * scale) / view.scale;
  view.y = y - ((y - view.y) * scale) / view.scale;
  view.scale = scale;
  view.fitted = false;
  place();
}

function zoomFromMiddle(factor) {
  const box = svg.getBoundingClientRect();
  zoom(factor, box.width / 2, box.height / 2);
}

const canvas = element("canvas");
canvas.addEventListener("wheel", (event) => {
  event.preventDefault();
  const box = svg.getBoundingClientRect();
  zoom(Math.exp(-event.deltaY / 500), event.clientX - box.left, event.clientY - box.top);
}, { passive: false });
let drag = null;
canvas.addEventListener("pointerdown", (event) => {
  drag = { x: event.clientX - view.x, y: event.clientY - view.y, startX: event.clientX, startY: event.clientY };
});
window.addEventListener("pointermove", (event) => {
  if (!drag) return;
  if (Math.hypot(event.clientX - drag.startX, event.clientY - drag.startY) < 4) return;
  canvas.classList.add("moving");
  view.x = event.clientX - drag.x;
  view.y = event.clientY - drag.y;
  view.fitted = false;
  place();
});
window.addEventListener("pointerup", () => {
  drag = null;
  setTimeout(() => canvas.classList.remove("moving"));
});
element("zoom-in").addEventListener("click", () => zoomFromMiddle(1.25));
element("zoom-out").addEventListener("click", () => zoomFromMiddle(0.8));
element("fit").addEventListener("click", fit);
new ResizeObserver(() => {
  if (view.fitted) fit();
  drawCharts();
}).observe(canvas);

// The chosen operator.

function choose(id) {
  if (canvas.classList.contains("moving")) return;
  page.chosen = page.chosen === id ? null : id;
  for (const [key, parts] of rows) parts.group.classList.toggle("chosen", key === page.chosen);
  showDetail();
}

function pairs(list, entries) {
  while (list.children.length > entries.length * 2) list.lastChild.remove();
  entries.forEach(([key, value], number) => {
    if (list.children.length < number * 2 + 2) {
      makeHtml(list, "dt");
      makeHtml(list, "dd");
    }
    setText(list.children[number * 2], key);
    setText(list.children[number * 2 + 1], value);
  });
}

function showDetail() {
  const box = element("detail");
  const parts = rows.get(page.chosen);
  const figures = parts && page.state && page.state.operators[page.chosen];
  box.toggleAttribute("hidden", !figures);
  if (!figures) return;
  if (box.dataset.id !== page.chosen) {
    box.dataset.id = page.chosen;
    box.replaceChildren();
    makeHtml(box, "h3", parts.operator.name);
    const close = makeHtml(box, "button", "×", "close");
    close.type = "button";
    close.title = "Close";
    close.addEventListener("click", () => choose(page.chosen));
    makeHtml(box, "p", parts.operator.site ? `built at ${parts.operator.site}` : parts.operator.kind);
    makeHtml(box, "dl");
  }
  const entries = [
    ["records in", `${formatCount(figures["in-rate"])}/s`],
    ["", figures.in.toLocaleString("en")],
  ];
  if (parts.operator.kind !== "sink") {
    entries.push(["records out", `${formatCount(figures["out-rate"])}/s`], ["", figures.out.toLocaleString("en")]);
  }
  if (figures.busy !== null) entries.push(["busy", `${(figures.busy * 100).toFixed(1)} %`]);
  const watermark = watermarkOf(parts, page.state.operators);
  entries.push(["watermark", formatMoment(watermark)]);
  if (typeof watermark === "number") entries.push(["behind", formatBehind(watermark, page.state.now)]);
  if (figures.pending !== null) entries.push(["waiting", `${figures.pending.toLocaleString("en")} records`]);
  if (figures["pending-bytes"] !== null) entries.push(["waiting", formatBytes(figures["pending-bytes"])]);
  if (figures["state-entries"] !== null) entries.push(["keys with state", figures["state-entries"].toLocaleString("en")]);
  if (figures["state-bytes"] !== null) entries.push(["state", formatBytes(figures["state-bytes"])]);
  if (figures["bytes-in"]) entries.push(["bytes in", formatBytes(figures["bytes-in"])]);
  if (figures["bytes-out"]) entries.push(["bytes out", formatBytes(figures["bytes-out"])]);
  if (figures.late) entries.push(["late, dropped", figures.late.toLocaleString("en")]);
  if (figures.bad) entries.push(["not decoded", figures.bad.toLocaleString("en")]);
  entries.push(["parallelism", String(parts.vertex.parallelism)]);
  if (parts.operator.keyed) entries.push(["key groups", String(parts.vertex["max-parallelism"])]);
  entries.push(["uid", parts.operator.uid || "none"]);
  entries.push(["vertex", parts.vertex.id]);
  for (const [split, pending, bytes, idle] of page.state.splits[page.chosen] || []) {
    const waiting = pending !== null ? `${formatCount(pending)} waiting` : bytes !== null ? formatBytes(bytes) : "";
    entries.push([split.split("@")[0], [waiting, idle ? "idle" : ""].filter(Boolean).join(", ") || NONE]);
  }
  pairs(box.querySelector("dl"), entries);
}

// Charts.

function prepare(canvasNode) {
  const box = canvasNode.getBoundingClientRect();
  const ratio = window.devicePixelRatio || 1;
  const [width, height] = [Math.round(box.width * ratio), Math.round(box.height * ratio)];
  if (canvasNode.width !== width || canvasNode.height !== height) {
    canvasNode.width = width;
    canvasNode.height = height;
  }
  const context = canvasNode.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, box.width, box.height);
  return [context, box.width, box.height];
}

function niceLimit(value) {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1)));
  for (const step of [1, 1.5, 2, 3, 4, 5, 6, 8, 10]) if (value <= step * power) return step * power;
  return 10 * power;
}

const chart = { left: 62, bottom: 24, top: 8, bar: 1, first: 0, shown: [] };

function drawTimeline() {
  const [context, width, height] = prepare(element("timeline"));
  const shown = page.batches.slice(-BATCHES);
  chart.shown = shown;
  const plotWidth = width - chart.left - 4;
  const plotHeight = height - chart.bottom - chart.top;
  chart.bar = plotWidth / Math.max(BATCHES, 1);
  chart.first = chart.left + plotWidth - shown.length * chart.bar;
  // A few long bars must not make the others invisible: long bars are cut, with a gap.
  const ordered = shown.map((each) => each[2]).sort((a, b) => a - b);
  const usual = ordered[Math.floor(ordered.length * 0.85)] || 1;
  const limit = niceLimit(Math.max(Math.min(ordered.at(-1) || 1, usual * 4), 1));
  context.font = "13px system-ui, sans-serif";
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const share of [0, 0.5, 1]) {
    const y = chart.top + plotHeight * (1 - share);
    context.strokeStyle = color("panel-edge");
    context.beginPath();
    context.moveTo(chart.left, y);
    context.lineTo(width, y);
    context.stroke();
    context.fillStyle = color("soft");
    context.fillText(formatDuration(limit * share), chart.left - 8, y);
  }
  const colors = PHASES.map(color);
  const gap = chart.bar > 5 ? 2 : 0.5;
  shown.forEach((each, number) => {
    const x = chart.first + number * chart.bar;
    const known = each.slice(3, 7);
    const parts = known.some((part) => part !== null) ? known : [0, 0, each[2], 0];
    let y = chart.top + plotHeight;
    const isCut = each[2] > limit;
    parts.forEach((part, phase) => {
      const size = ((part || 0) / Math.max(limit, each[2])) * plotHeight;
      context.fillStyle = colors[phase];
      context.fillRect(x, y - size, chart.bar - gap, size);
      y -= size;
    });
    if (isCut) {
      context.fillStyle = color("panel");
      context.fillRect(x - 1, chart.top + 12, chart.bar + 1, 4);
    }
  });
  if (shown.length) {
    context.fillStyle = color("soft");
    context.textBaseline = "alphabetic";
    context.fillText(`micro-batch ${shown.at(-1)[0].toLocaleString("en")}`, width - 2, height - 5);
    context.textAlign = "left";
    if (shown.length > 30) context.fillText(shown[0][0].toLocaleString("en"), Math.max(chart.first, chart.left), height - 5);
  }
}

element("timeline").addEventListener("pointermove", (event) => {
  const box = event.target.getBoundingClientRect();
  const each = chart.shown[Math.floor((event.clientX - box.left - chart.first) / chart.bar)];
  const tip = element("tip");
  tip.hidden = !each;
  if (!each) return;
  const lines = [`micro-batch ${each[0]}: ${formatDuration(each[2])}`];
  PHASES.forEach((name, number) => lines.push(`${name}: ${formatDuration(each[number + 3])}`));
  lines.push(`${each[7].toLocaleString("en")} records, ${new Date(each[1]).toLocaleTimeString()}`);
  tip.textContent = lines.join("\n");
  const x = event.clientX - box.left;
  tip.style.left = `${x > box.width / 2 ? x - tip.offsetWidth - 14 : x + 14}px`;
});
element("timeline").addEventListener("pointerleave", () => { element("tip").hidden = true; });

function drawSpark() {
  const [context, width, height] = prepare(element("in-spark"));
  const rates = page.state.rates;
  if (rates.length < 3) return;
  const most = Math.max(...rates, 1);
  const x = (at) => (at / Math.max(rates.length - 1, 1)) * width;
  const y = (rate) => height - 3 - (rate / most) * (height - 8);
  context.beginPath();
  rates.forEach((rate, at) => context.lineTo(x(at), y(rate)));
  context.strokeStyle = color("accent");
  context.lineWidth = 2.2;
  context.lineJoin = "round";
  context.stroke();
  context.lineTo(width, height);
  context.lineTo(0, height);
  context.globalAlpha = 0.14;
  context.fillStyle = color("accent");
  context.fill();
  context.globalAlpha = 1;
}

function drawCharts() {
  if (!page.state) return;
  drawTimeline();
  drawSpark();
}

function showBars(list, entries, none) {
  if (!entries.length) {
    if (list.dataset.none !== "1") {
      list.replaceChildren();
      makeHtml(makeHtml(list, "li"), "span", none, "none");
      list.dataset.none = "1";
    }
    return;
  }
  if (list.dataset.none) {
    list.replaceChildren();
    delete list.dataset.none;
  }
  const most = Math.max(...entries.map((each) => each[1]), 1);
  while (list.children.length > entries.length) list.lastChild.remove();
  entries.forEach(([name, size, text], number) => {
    let row = list.children[number];
    if (!row) {
      row = makeHtml(list, "li");
      makeHtml(row, "span", "", "what");
      makeHtml(row, "span", "", "size");
      makeHtml(row, "meter");
    }
    const [what, label, meter] = row.children;
    setText(what, name);
    setAttribute(what, "title", name);
    setText(label, text);
    setAttribute(meter, "max", most);
    setAttribute(meter, "value", size);
  });
}

// The rest of the page.

function level(node, name) {
  for (const each of ["warm", "hot"]) node.classList.toggle(each, each === name);
}

function showState(state) {
  setText(element("name"), state.name);
  document.title = `${state.name} · ${state.status.toLowerCase()}`;
  const status = element("status");
  setText(status, state.status);
  setAttribute(status, "data-status", state.status);
  const where = [state.runner ? `${state.runner} (${state.location}${state.cores > 1 ? `, ${state.cores} cores` : ""})` : "starting"];
  if (state.checkpoint) where.push(`checkpoint ${state.checkpoint}`);
  if (state.restarts) where.push(`${state.restarts} restart${state.restarts > 1 ? "s" : ""}`);
  setText(element("where"), where.join(" · "));
  const failed = state.status === "FAILED" && state.failures.length ? state.failures.at(-1).operator : "";
  for (const parts of rows.values()) parts.group.classList.toggle("failed", failed !== "" && parts.operator.name === failed);
  setText(element("uptime"), formatDuration(state.seconds * 1000));
  setText(element("in-rate"), formatCount(state["in-rate"]));
  setText(element("in"), `${state.in.toLocaleString("en")} in all`);
  setText(element("out-rate"), formatCount(state["out-rate"]));
  setText(element("out"), `${state.out.toLocaleString("en")} in all`);
  setText(element("lag"), state.lag === null ? NONE : formatDuration(state.lag));
  setText(element("watermark"), formatMoment(state.watermark));
  setText(element("pending"), formatCount(state.pending));
  const clears = state.pending > 0 && state["in-rate"] > 0 ? state.pending / state["in-rate"] : null;
  setText(element("pending-text"), clears === null ? "records unread" : `${formatDuration(clears * 1000)} at this rate`);
  level(element("pending-tile"), clears === null ? "" : clears > 3600 ? "hot" : clears > 60 ? "warm" : "");
  const last = page.batches.at(-1);
  const recent = page.batches.slice(-20);
  const mean = recent.reduce((sum, each) => sum + each[2], 0) / Math.max(recent.length, 1);
  setText(element("batch"), last ? formatDuration(mean) : NONE);
  setText(element("batch-text"), last ? `number ${last[0].toLocaleString("en")}` : NONE);
  const entries = Object.values(state.operators).reduce((sum, each) => sum + (each["state-entries"] || 0), 0);
  setText(element("state"), state["state-bytes"] === null ? formatCount(entries) : formatBytes(state["state-bytes"]));
  setText(element("state-text"), state["state-bytes"] === null ? "keys with state" : `${formatCount(entries)} keys`);
  const lost = state.late + state.bad;
  setText(element("lost"), formatCount(lost));
  setText(element("lost-text"), lost ? `${formatCount(state.late)} late, ${formatCount(state.bad)} bad` : "no late or bad records");
  level(element("lost-tile"), lost ? "warm" : "");
  showFigures(state);
  showDetail();
  showFailures(state);
  const states = [];
  for (const [id, parts] of rows) {
    const each = state.operators[id];
    if (!each || (each["state-bytes"] === null && !each["state-entries"])) continue;
    const bytes = each["state-bytes"];
    states.push([parts.operator.name, bytes === null ? each["state-entries"] : bytes, bytes === null ? `${formatCount(each["state-entries"])} keys` : `${formatBytes(bytes)} · ${formatCount(each["state-entries"])} keys`]);
  }
  states.sort((a, b) => b[1] - a[1]);
  showBars(element("states"), states.slice(0, 8), "no operator has state yet");
  const splits = [];
  for (const [source, found] of Object.entries(state.splits)) {
    const parts = rows.get(source);
    const several = parts && Object.keys(state.splits).length > 1;
    for (const [split, pending, bytes] of found) {
      const name = split.split("@")[0].split("/").at(-1);
      const shown = several ? `${parts.operator.name}: ${name}` : name;
      if (pending) splits.push([shown, pending, formatCount(pending)]);
      else if (bytes) splits.push([shown, bytes, formatBytes(bytes)]);
    }
  }
  splits.sort((a, b) => b[1] - a[1]);
  element("splits-panel").toggleAttribute("hidden", !splits.length);
  showBars(element("splits"), splits.slice(0, 8), "");
  const figures = Object.entries(state.figures);
  element("figures-panel").toggleAttribute("hidden", !figures.length);
  pairs(element("figures"), figures.slice(0, 14).map(([name, value]) => [name, formatCount(value)]));
  drawCharts();
}

function showFailures(state) {
  const text = JSON.stringify(state.failures);
  if (text === page.shownFailures) return;
  page.shownFailures = text;
  const box = element("failures");
  box.replaceChildren();
  box.hidden = !state.failures.length;
  for (const each of [...state.failures].reverse()) {
    const article = makeHtml(box, "article");
    const head = makeHtml(article, "h3", each.name);
    if (each.message) makeHtml(head, "span", `: ${each.message}`);
    const told = [new Date(each.at).toLocaleTimeString()];
    if (each.operator) told.push(`in ${each.operator}`);
    if (each.line) told.push(each.line);
    told.push(each["restarts-in"] === null ? "the job has failed" : `restarts in ${formatDuration(each["restarts-in"])}`);
    makeHtml(article, "p", told.join(" · "));
    if (each.source) makeHtml(article, "code", each.source);
    const more = makeHtml(article, "details");
    makeHtml(more, "summary", "traceback");
    makeHtml(more, "pre", each.trace);
  }
}

// The theme.

const themes = ["auto", "light", "dark"];
const dark = window.matchMedia("(prefers-color-scheme: dark)");
function setTheme(name) {
  localStorage.setItem("headrace-theme", name);
  element("theme").textContent = { auto: "Auto", light: "Light", dark: "Dark" }[name];
  document.documentElement.dataset.theme = name === "auto" ? (dark.matches ? "dark" : "light") : name;
  palette.clear();
  drawCharts();
}
const theme = () => localStorage.getItem("headrace-theme") || "auto";
element("theme").addEventListener("click", () => setTheme(themes[(themes.indexOf(theme()) + 1) % 3]));
dark.addEventListener("change", () => setTheme(theme()));
setTheme(theme());

// Polling, once a second.

async function refreshJobs() {
  const jobs = await ask("page/jobs");
  const list = element("jobs");
  element("jobs-label").toggleAttribute("hidden", jobs.length < 2);
  while (list.children.length > jobs.length) list.lastChild.remove();
  jobs.forEach((job, number) => {
    const option = list.children[number] || makeHtml(list, "option");
    setAttribute(option, "value", job.number);
    setText(option, `${job.name} (${job.status.toLowerCase()})`);
  });
  if (page.job === null && jobs.length) {
    const running = jobs.filter((job) => job.status === "RUNNING");
    show((running.at(-1) || jobs.at(-1)).number);
  }
}

function show(number) {
  page.job = number;
  page.graph = null;
  page.state = null;
  page.batches = [];
  page.chosen = null;
  element("jobs").value = number;
}
element("jobs").addEventListener("change", (event) => { show(Number(event.target.value)); refresh(); });

let round = 0;
async function refresh() {
  if (round % 5 === 0 || page.job === null) await refreshJobs();
  round += 1;
  if (page.job === null) return;
  const job = page.job;
  if (!page.graph || !page.graph.started) {
    const graph = await ask(`page/jobs/${job}/graph`);
    if (job !== page.job) return;
    page.graph = graph;
    drawGraph(graph);
  }
  const last = page.batches.length ? page.batches.at(-1)[0] : "";
  const state = await ask(`page/jobs/${job}/state?after=${last}`);
  if (job !== page.job) return;
  page.state = state;
  page.batches = [...page.batches, ...state.batches].slice(-KEPT);
  const start = performance.now();
  showState(state);
  performance.measure("update", { start });
}

async function run() {
  try {
    if (!document.hidden || round === 0) await refresh();
    setText(element("connection"), "");
  } catch (error) {
    const gone = page.state && ["FINISHED", "FAILED", "CANCELED"].includes(page.state.status);
    setText(element("connection"), gone ? "the program has ended" : "the program does not answer");
    if (!(error instanceof TypeError)) console.error(error);
  }
  setTimeout(run, 1000);
}
document.addEventListener("visibilitychange", () => { if (!document.hidden) refresh().catch(() => {}); });
run();
