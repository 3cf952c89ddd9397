// Colors the map by the chosen layer, and finds a node by its id: shows its neighbors in the graph and in the embedding.
function drawMap() {
  const figure = document.getElementById("map");
  if (!figure || !document.getElementById("layers")) return;
  const [layers, nodes] = ["layers", "nodes"].map((id) => JSON.parse(document.getElementById(id).textContent));
  const svg = figure.querySelector("svg");
  const dots = [...svg.querySelectorAll("circle")];
  const element = (tag, text, more = {}) => Object.assign(document.createElement(tag), { textContent: text }, more);
  paintLayers(figure, layers, dots);
  findNodes();

  function findNodes() {
    const [form, input, out] = [".find", ".find input", "#node"].map((name) => figure.querySelector(name));
    const index = new Map(nodes.ids.map((id, n) => [id, n]));
    const marks = document.createElementNS("http://www.w3.org/2000/svg", "g");
    svg.append(marks);
    const mark = (tag, attributes) => {
      const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
      Object.entries(attributes).forEach(([name, value]) => e.setAttribute(name, value));
      marks.append(e);
    };
    const at = (n) => ["cx", "cy"].map((name) => dots[n].getAttribute(name));
    const ring = (n, r, width) => {
      const [cx, cy] = at(n);
      mark("circle", { cx, cy, r, fill: "none", stroke: "currentColor", "stroke-width": width });
    };
    // A list of nodes as buttons.
    const list = (found, label, both = []) => {
      const ul = element("ul", "", { className: "nodes" });
      found.forEach((n) => {
        const button = element("button", label(n), { type: "button", className: both.includes(n) ? "both" : "" });
        button.addEventListener("click", () => { show(n); out.focus(); });
        const item = document.createElement("li");
        item.append(button);
        ul.append(item);
      });
      return ul;
    };

    function show(n) {
      input.value = nodes.ids[n];
      const groups = layers.filter((layer) => layer.name !== "degree" && layer.of[n] >= 0)
        .map((layer) => layer.name === "cluster" ? layer.groups[layer.of[n]][0] : `${layer.name} ${layer.groups[layer.of[n]]?.[0] ?? layer.of[n]}`);
      const head = element("p", "");
      head.append(element("strong", `Node ${nodes.ids[n]}`), `: ${[...groups, `degree ${nodes.degree[n]}`].join(", ")}.`);
      const [near, graph] = [nodes.nearest[n].map(([other]) => other), nodes.neighbors[n]];
      const cosine = new Map(nodes.nearest[n]);
      const both = near.filter((other) => graph.includes(other));
      const listed = graph.length < nodes.degree[n] ? `${nodes.degree[n]}, ${graph.length} of them listed` : nodes.degree[n];
      out.replaceChildren(head,
        element("p", `Neighbors in the graph (${listed}):`), list(graph, (other) => nodes.ids[other], both),
        element("p", `Nearest in the embedding, with cosine similarity (${both.length} of ${near.length} are neighbors in the graph):`),
        list(near, (other) => `${nodes.ids[other]} ${cosine.get(other).toFixed(2).replace("-", "−")}`, both),
        element("p", "On the map: lines lead to the neighbors in the graph, small rings mark the nearest.", { className: "soft" }));
      marks.replaceChildren();
      const [x1, y1] = at(n);
      graph.forEach((other) => { const [x2, y2] = at(other); mark("line", { x1, y1, x2, y2, stroke: "currentColor", "stroke-opacity": 0.6 }); });
      near.forEach((other) => ring(other, 5, 1.5));
      ring(n, 9, 3);
    }
    function find(text) {
      const wanted = text.trim();
      if (!wanted) return;
      if (index.has(wanted)) return show(index.get(wanted));
      marks.replaceChildren();
      const low = wanted.toLowerCase();
      const similar = nodes.ids.map((id, n) => n).filter((n) => nodes.ids[n].toLowerCase().includes(low));
      const part = nodes.ids.length < nodes.total ? `, which holds ${nodes.ids.length} of ${nodes.total} nodes` : "";
      out.replaceChildren(element("p", `No node "${wanted}" on this page${part}.`));
      if (similar.length) {
        const some = similar.length > 12 ? `, the first 12 of ${similar.length}` : "";
        out.append(element("p", `Ids that contain it${some}:`), list(similar.slice(0, 12), (n) => nodes.ids[n]));
      }
    }
    form.addEventListener("submit", (event) => { event.preventDefault(); find(input.value); });
    svg.addEventListener("click", (event) => {
      const n = dots.indexOf(event.target);
      if (n >= 0) show(n);
    });
  }
}
// Radio buttons for the layers, and the legend of the chosen one.
function paintLayers(figure, layers, dots) {
  const [choice, groups] = [figure.querySelector(".layers"), figure.querySelector(".groups")];
  function paint(layer) {
    dots.forEach((dot, n) => {
      const group = layer.of[n];
      dot.setAttribute("fill", group < 0 ? "#888888" : layer.groups[group % layer.groups.length][1]);
    });
    groups.replaceChildren(...layer.groups.map(([name, color]) => {
      const item = document.createElement("span");
      const mark = document.createElement("i");
      mark.style.background = color;
      item.append(mark, name);
      return item;
    }));
  }
  layers.forEach((layer, n) => {
    const label = document.createElement("label");
    const input = document.createElement("input");
    input.type = "radio"; input.name = "layer"; input.checked = n === 0;
    input.addEventListener("change", () => paint(layer));
    label.append(input, ` by ${layer.name}`);
    choice.append(label);
  });
  paint(layers[0]);
}
