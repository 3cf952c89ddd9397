"use strict";
// Explains the block under the pointer, or the one selected with the arrow keys, in the table below the schedule.
function explainBlocks() {
  const source = document.getElementById("blocks");
  const figure = document.getElementById("schedule");
  if (!source || !figure) return;
  const data = JSON.parse(source.textContent);
  const svg = figure.querySelector("svg");
  const why = document.getElementById("why");
  const { left, right } = data; // edges of the raster in SVG units
  let selected = -1;
  const number = (x, digits = 3) => (x === null || x === undefined ? "–" : x.toFixed(digits));
  const cell = (tag, text) => { const e = document.createElement(tag); e.textContent = text; return e; };
  const cursor = document.createElementNS("http://www.w3.org/2000/svg", "path");
  cursor.setAttribute("stroke", "currentColor");
  svg.append(cursor);
  svg.tabIndex = 0;
  svg.setAttribute("aria-describedby", "why");

  function show(index) {
    selected = Math.max(0, Math.min(data.blocks.length - 1, index));
    const b = data.blocks[selected];
    const x = left + ((selected + 0.5) / data.blocks.length) * (right - left);
    cursor.setAttribute("d", `M${x} 4V${svg.viewBox.baseVal.height - 60}`);
    const chosen = b.task === null ? "all objectives" : data.objectives[b.task];
    const every = data.every > 1 ? ` (the page holds one of every ${data.every} blocks)` : "";
    const head = document.createElement("p");
    let text = `Epoch ${b.epoch}, block ${b.block}, after ${b.step} steps: ${chosen}`;
    if (b.draw !== null && b.prob.length) {
      let sum = 0;
      const intervals = b.prob.map((p, k) => [data.objectives[k], sum, (sum += p)]);
      const own = intervals[b.task];
      text += `. The random draw ${number(b.draw, 4)} fell into its interval from ${number(own[1], 4)} to ${number(own[2], 4)}`;
    } else if (b.deficit.length) {
      text += ". It had the largest deficit";
    }
    head.textContent = `${text}. Loss ${number(b.loss, 4)}.${every}`;
    why.replaceChildren(head);
    if (!b.plan.length) return;
    const table = document.createElement("table");
    const names = ["objective", "plan", "blocks so far", "deficit", "P term", "I term", "D term", "probability"];
    const top = document.createElement("tr");
    names.forEach((name) => top.append(cell("th", name)));
    table.append(top);
    data.objectives.forEach((name, k) => {
      const row = document.createElement("tr");
      if (k === b.task) row.className = "chosen";
      row.append(cell("th", (k === b.task ? "→ " : "") + name));
      const values = [number(b.plan[k]), String(b.count[k] ?? "–"), number(b.deficit[k]), number(data.kp[k] * b.deficit[k]),
        number(data.ki[k] * b.integral[k]), number(data.kd[k] * b.delta[k]), number(b.prob[k])];
      values.forEach((value) => row.append(cell("td", value)));
      table.append(row);
    });
    why.append(table);
  }
  const blockAt = (event) => {
    const box = svg.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * svg.viewBox.baseVal.width;
    return Math.floor(((x - left) / (right - left)) * data.blocks.length);
  };
  svg.addEventListener("pointermove", (event) => show(blockAt(event)));
  svg.addEventListener("pointerdown", (event) => show(blockAt(event)));
  svg.addEventListener("keydown", (event) => {
    const steps = { ArrowRight: 1, ArrowLeft: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity };
    if (!(event.key in steps)) return;
    event.preventDefault();
    const by = steps[event.key];
    show(by === Infinity ? data.blocks.length - 1 : by === -Infinity ? 0 : selected + by);
  });
}
