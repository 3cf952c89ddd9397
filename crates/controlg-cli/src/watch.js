"use strict";
// Updates the page while the run trains. When the program no longer answers, the page keeps its content and says so.
(() => {
  const spoken = Object.assign(document.createElement("p"), { className: "hidden" });
  spoken.setAttribute("aria-live", "polite");
  document.body.append(spoken);
  let failures = 0;
  const timer = setInterval(update, 2000);

  function stop() {
    clearInterval(timer);
    spoken.textContent = document.querySelector("#status p").textContent;
  }
  function ended() {
    const [status, bar] = [document.getElementById("status"), document.querySelector("#status progress")];
    const done = bar.value >= bar.max;
    status.dataset.state = done ? "finished" : "ended";
    const name = Object.assign(document.createElement("span"), { className: `verdict ${status.dataset.state}`, textContent: status.dataset.state });
    const text = done ? ` all ${bar.max} steps are done. The complete page is report.html in the run folder.`
      : ` the program no longer answers; last seen at step ${bar.value} of ${bar.max}. If the run has finished, the complete page is report.html in its folder.`;
    status.querySelector("p").replaceChildren(name, text);
    document.title = document.title.replace(/^running/, status.dataset.state);
    stop();
  }
  async function update() {
    let next;
    try {
      next = new DOMParser().parseFromString(await (await fetch("/", { cache: "no-store" })).text(), "text/html");
      failures = 0;
    } catch {
      failures += 1;
      if (failures > 1) ended();
      return;
    }
    const status = next.getElementById("status");
    if (!status) return;
    const running = status.dataset.state === "running";
    document.title = next.title;
    // Do not pull the schedule away from a reader.
    if (running && document.querySelector("#schedule svg:focus, #schedule:hover")) {
      document.getElementById("status").replaceWith(status);
      return;
    }
    const open = [...document.querySelectorAll("details")].map((details) => details.open);
    document.querySelector("main").replaceWith(next.querySelector("main"));
    document.querySelectorAll("details").forEach((details, n) => { details.open = open[n]; });
    next.querySelectorAll('script[type="application/json"]').forEach((fresh) => {
      const old = document.getElementById(fresh.id);
      if (old) old.textContent = fresh.textContent;
      else document.body.append(fresh);
    });
    window.drawPage();
    if (!running) stop();
  }
})();
