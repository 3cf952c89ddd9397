//! `controlg report` and `controlg demo`, with the pages loaded in a real browser.
//!
//! The browser tests are skipped if Chromium is not installed.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

const DATA: &str = "synthetic:nodes=150";

fn controlg(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_controlg")).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn run(folder: &Path, data: &str) -> PathBuf {
    let out = folder.join("run");
    let small =
        ["encoder.width=16", "train.epochs=2", "train.batches_per_epoch=40", "objective.p_par.parts=4"];
    let small: Vec<String> = small.iter().map(|setting| format!("--set={setting}")).collect();
    let mut arguments = vec!["pretrain", data, "--out", text(&out), "--quiet"];
    arguments.extend(small.iter().map(String::as_str));
    controlg(&arguments);
    out
}

fn browser() -> Option<PathBuf> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let path = std::env::var_os("PATH")?;
    let found = std::env::split_paths(&path)
        .flat_map(|folder| names.map(|name| folder.join(name)))
        .find(|p| p.exists());
    if found.is_none() {
        common::skipped("Chromium is not installed");
    }
    found
}

/// Collects all script errors.
const WATCH: &str = "<script>window.errors = []; window.onerror = (m) => { errors.push(String(m)) }; \
                     console.error = (...m) => { errors.push(m.join(' ')) };</script>";

/// Points at the schedule, switches the colors of the map, and writes what the page shows into a `<pre>`.
const INSPECT: &str = r##"<script>
addEventListener("load", () => {
  const found = { errors, figures: {}, why: "", moved: "", overflow: document.documentElement.scrollWidth - innerWidth };
  document.querySelectorAll("figure").forEach((f) => { found.figures[f.id] = f.querySelectorAll(".mark").length; });
  const raster = document.querySelector("#schedule svg");
  if (raster) {
    const box = raster.getBoundingClientRect();
    const at = (share) => new PointerEvent("pointermove", { clientX: box.left + share * box.width, clientY: box.top + 20 });
    raster.dispatchEvent(at(0.5));
    found.why = document.getElementById("why").textContent;
    raster.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight" }));
    found.moved = document.getElementById("why").textContent;
  }
  const layers = document.querySelectorAll("#map .layers input");
  if (layers.length) {
    const colors = () => [...document.querySelectorAll("#map circle")].map((c) => c.getAttribute("fill")).join();
    const before = colors();
    layers[layers.length - 1].click();
    found.repainted = colors() !== before;
  }
  const form = document.querySelector(".find");
  if (form) {
    const find = (id) => {
      document.getElementById("find-node").value = id;
      form.requestSubmit();
      return document.getElementById("node").textContent;
    };
    const texts = (n) => [...document.querySelectorAll("#node ul")[n]?.querySelectorAll("button") ?? []].map((b) => b.textContent);
    const nodes = JSON.parse(document.getElementById("nodes").textContent);
    found.search = { shown: find(nodes.ids[7]), graph: texts(0), near: texts(1), rings: document.querySelectorAll("#map svg g circle").length };
    document.querySelector("#node button").click();
    found.search.next = document.getElementById("node").textContent;
    found.search.focused = document.activeElement.id;
    found.search.missing = find("no such id");
    found.search.live = document.getElementById("node").getAttribute("aria-live");
    found.search.label = document.querySelector(".find label").htmlFor === "find-node";
  }
  // Rows of the grid of figures that are not filled.
  const grid = document.querySelector(".figures").getBoundingClientRect();
  const rows = {};
  document.querySelectorAll("figure").forEach((f) => { const b = f.getBoundingClientRect(); rows[b.top] = Math.max(rows[b.top] ?? 0, b.right); });
  found.gaps = Object.values(rows).filter((right) => right < grid.right - 2).length;
  const sizes = [...document.querySelectorAll("figure svg text")].map((t) => parseFloat(getComputedStyle(t).fontSize) * Math.hypot(t.getScreenCTM().a, t.getScreenCTM().b));
  found.smallest = Math.min(...sizes);
  found.legend = [...document.querySelectorAll("#losses text")].map((t) => t.textContent).filter((t) => t.startsWith("p_"));
  // Overlapping labels.
  found.overlaps = [];
  document.querySelectorAll("figure:not(#map):not(#cost) svg").forEach((svg) => {
    const boxes = [...svg.querySelectorAll("text")].map((t) => [t.textContent, t.getBoundingClientRect()]);
    boxes.forEach(([a, p], i) => boxes.slice(i + 1).forEach(([b, q]) => {
      const wide = Math.min(p.right, q.right) - Math.max(p.left, q.left);
      const high = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top);
      if (wide > 2 && high > 4) found.overlaps.push(svg.closest("figure").id + ": " + a + " / " + b);
    }));
  });
  const pre = document.createElement("pre");
  pre.id = "found";
  pre.textContent = JSON.stringify(found);
  document.body.append(pre);
});
</script>"##;

fn inspect(browser: &Path, page: &Path, width: usize) -> Value {
    let html = fs::read_to_string(page).unwrap();
    let html = html.replacen("<head>", &format!("<head>{WATCH}"), 1).replacen(
        "</body>",
        &format!("{INSPECT}</body>"),
        1,
    );
    let folder = TempDir::new().unwrap();
    let copy = folder.path().join("page.html");
    fs::write(&copy, html).unwrap();
    let output = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
        ])
        .args(["--disable-component-update", "--disable-sync", "--dump-dom", "--virtual-time-budget=4000"])
        .arg(format!("--window-size={width},1200"))
        .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
        .arg(format!("file://{}", copy.display()))
        .output()
        .unwrap();
    let dom = String::from_utf8_lossy(&output.stdout).into_owned();
    let found = dom
        .split("<pre id=\"found\">")
        .nth(1)
        .unwrap_or_else(|| panic!("the script of the page did not finish: {dom:.2000}"));
    let found = found.split("</pre>").next().unwrap();
    let found = found.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    serde_json::from_str(&found).unwrap()
}

#[test]
fn run_page_renders_and_explains_blocks() {
    let Some(browser) = browser() else { return };
    let folder = TempDir::new().unwrap();
    let run = run(folder.path(), DATA);
    controlg(&["evaluate", text(&run), "--quiet"]);
    let figures = folder.path().join("figures");
    controlg(&["report", text(&run), "--figures", text(&figures), "--quiet"]);
    for width in [1280, 390] {
        let found = inspect(&browser, &run.join("report.html"), width);
        assert_eq!(found["errors"], serde_json::json!([]), "{found}");
        let marks = found["figures"].as_object().unwrap();
        assert_eq!(marks.len(), 14, "{found}");
        assert!(marks.values().all(|count| count.as_u64().unwrap() > 0), "{found}");
        let why = found["why"].as_str().unwrap();
        for word in ["Epoch", "random draw", "P term", "I term", "D term", "probability", "p_par"] {
            assert!(why.contains(word), "{word}: {why}");
        }
        assert_ne!(found["why"], found["moved"], "the arrow key selects the next block");
        assert_eq!(found["repainted"], true);
        assert_eq!(found["legend"], serde_json::json!(["p_link", "p_recon", "p_minsg", "p_decor", "p_par"]));
        assert!(found["overflow"].as_i64().unwrap() <= 0, "wider than the window: {found}");
        assert_eq!(found["overlaps"], serde_json::json!([]), "at {width}");
        assert_eq!(found["gaps"], 0, "rows with an empty half at {width}");
        let size = found["smallest"].as_f64().unwrap();
        assert!(size >= if width > 400 { 14.0 } else { 9.0 }, "text of {size} pixels at {width}");
        search_finds_a_node(&found["search"], &run);
    }
    let page = fs::read_to_string(run.join("report.html")).unwrap();
    for fragment in ["<dt>homophily</dt>", "<th scope=\"row\">sgc</th>", "Clustering", "the best floor"] {
        assert!(page.contains(fragment), "{fragment}");
    }
    // Each figure as SVG, PNG and CSV.
    assert_eq!(fs::read_dir(&figures).unwrap().count(), 42);
    let png = fs::read(figures.join("schedule.png")).unwrap();
    assert!(png.starts_with(b"\x89PNG") && png.len() > 10_000, "{} bytes", png.len());
}

/// What the page shows for the node with index 7 is what the graph says.
fn search_finds_a_node(search: &Value, run: &Path) {
    let ids = fs::read_to_string(run.join("ids.txt")).unwrap();
    let id = ids.lines().nth(7).unwrap();
    let shown = search["shown"].as_str().unwrap();
    assert!(shown.starts_with(&format!("Node {id}: class ")), "{search}");
    let graph = controlg::data::load(DATA, &Default::default()).unwrap().graph;
    let neighbors: Vec<String> =
        graph.neighbors(7).iter().map(|other| graph.ids().get(*other as usize).into_owned()).collect();
    assert_eq!(search["graph"], serde_json::json!(neighbors), "{search}");
    assert!(shown.contains(&format!("Neighbors in the graph ({}):", neighbors.len())), "{shown}");
    assert_eq!(search["near"].as_array().unwrap().len(), 8, "{search}");
    assert_eq!(search["rings"], 9, "the node and its eight nearest are marked");
    // A neighbor is a button that leads on; the result is announced and keeps the focus.
    let next = search["next"].as_str().unwrap();
    assert!(next.starts_with(&format!("Node {}:", neighbors[0])), "{next}");
    assert_eq!((&search["focused"], &search["live"]), (&"node".into(), &"polite".into()));
    assert!(
        search["missing"].as_str().unwrap().starts_with("No node \"no such id\" on this page."),
        "{search}"
    );
    assert_eq!(search["label"], true);
}

#[test]
fn comparison_page_renders() {
    let Some(browser) = browser() else { return };
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("all");
    let small = [
        "--set=encoder.width=8",
        "--set=train.epochs=2",
        "--set=train.batches_per_epoch=30",
        "--set=objective.p_par.parts=3",
    ];
    let args = [
        "compare",
        "--data",
        DATA,
        "--methods",
        "controlg,random",
        "--seeds",
        "2",
        "--tasks",
        "nc,lp",
        "--quiet",
    ];
    controlg(&[&args[..], &small, &["--no-singles", "--out", text(&out)]].concat());
    controlg(&["report", text(&out), "--quiet"]);
    for width in [1280, 390] {
        let found = inspect(&browser, &out.join("report.html"), width);
        assert_eq!(found["errors"], serde_json::json!([]), "{found}");
        assert!(
            found["figures"]["ranks"].as_u64().unwrap() > 8
                // Two methods and five floors, on two tasks.
                && found["figures"]["cost"].as_u64().unwrap() == 14,
            "{found}"
        );
        assert_eq!(found["gaps"], 0, "rows with an empty half at {width}");
        assert!(found["overflow"].as_i64().unwrap() <= 0, "wider than the window: {found}");
    }
}

#[test]
fn ids_and_labels_are_escaped() {
    let Some(browser) = browser() else { return };
    let folder = TempDir::new().unwrap();
    let graph = folder.path().join("<b onclick=alert(1)>graph");
    fs::create_dir(&graph).unwrap();
    let name = |node: usize| {
        format!(
            "\"<script>errors.push('ran {node}')</script>'\"\"{}\"",
            "x".repeat(if node == 3 { 10_000 } else { 0 })
        )
    };
    let mut edges = "src,dst\n".to_owned();
    let mut labels = "id,label\n".to_owned();
    for node in 0..60 {
        edges +=
            &format!("{},{}\n{},{}\n", name(node), name((node + 1) % 60), name(node), name((node + 7) % 60));
        labels +=
            &format!("{},\"<img src=x onerror=errors.push('label')> & 'class' {}\"\n", name(node), node % 3);
    }
    fs::write(graph.join("edges.csv"), edges).unwrap();
    fs::write(graph.join("labels.csv"), labels).unwrap();
    let run = run(folder.path(), text(&graph));
    controlg(&["report", text(&run), "--quiet"]);
    let found = inspect(&browser, &run.join("report.html"), 1280);
    assert_eq!(found["errors"], serde_json::json!([]), "{found}");
    assert!(found["figures"]["map"].as_u64().unwrap() == 60);
    assert!(found["overflow"].as_i64().unwrap() <= 0, "{found}");
}

#[test]
fn demo_prints_five_lines() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("demo");
    let printed = controlg(&["demo", "--out", text(&out), "--quiet"]);
    assert_eq!(printed.lines().count(), 5, "{printed}");
    for word in [
        "nc = node classification accuracy",
        "lp = link prediction AUC",
        "cluster = NMI",
        "nc/lp/cluster after ",
        "controlg ",
        "random ",
        "best without training: ",
        "raw = features; sgc, mean, hops: smoothed",
        "report.html",
        "Next:",
    ] {
        assert!(printed.contains(word), "{word}: {printed}");
    }
    // They fit on 80 columns with the default folder.
    let own = printed.replace(text(&out), "controlg-demo");
    assert!(own.lines().all(|line| line.chars().count() <= 80), "{own}");
    let page = fs::read_to_string(out.join("report.html")).unwrap();
    assert!(page.len() < 3_000_000);
    for task in
        ["Node classification <small>(nc)", "Link prediction <small>(lp)", "Clustering <small>(cluster)"]
    {
        assert!(page.contains(task), "{task}");
    }
    for method in ["controlg", "random", "untrained", "sgc", "mean", "hops", "raw"] {
        assert_eq!(page.matches(&format!("<th scope=\"row\">{method}</th>")).count(), 3, "{method}");
    }
    assert!(page.contains("The demo pretrains") && page.contains("which saw the training edges only"));
}

#[test]
fn a_folder_without_results_is_an_error() {
    let folder = TempDir::new().unwrap();
    let output =
        Command::new(env!("CARGO_BIN_EXE_controlg")).args(["report", text(folder.path())]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("neither a run nor a comparison"));
}
