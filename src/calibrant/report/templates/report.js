"use strict";
(() => {
  const page = JSON.parse(document.getElementById("page-data").textContent);
  const root = document.documentElement;
  const slider = document.getElementById("level");
  const toggle = document.getElementById("theme");
  // Print sizes in CSS pixels: the columns of report.css, and a height that fills most pages.
  const PRINT = { half: 330, whole: 680, height: 340 };
  let printing = false;
  const config = { displayModeBar: false, responsive: true };

  // ---- colours: charts name them, the theme defines them ----
  function paint(value, key, style) {
    if (typeof value === "string") {
      const named = value.startsWith("@") && key.toLowerCase().endsWith("color");
      return named ? style.getPropertyValue("--" + value.slice(1)).trim() : value;
    }
    if (Array.isArray(value)) {
      return typeof value[0] === "object" && value[0] ? value.map((item) => paint(item, key, style)) : value;
    }
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, paint(item, name, style)]));
    }
    return value;
  }

  function paper(id, layout) {
    const alone = document.getElementById(id).closest("figure").matches(":only-child");
    return { width: alone ? PRINT.whole : PRINT.half, height: Math.min(layout.height, PRINT.height), autosize: false };
  }

  function dressed(layout, style) {
    const colour = (name) => style.getPropertyValue("--" + name).trim();
    const common = { gridcolor: colour("grid"), linecolor: colour("rule"), zerolinecolor: colour("grid"), automargin: true };
    const axis = (given) => ({ ...common, ...given, title: { ...given.title, font: { size: 12 }, standoff: 6 } });
    return {
      ...layout,
      autosize: true,
      xaxis: axis(layout.xaxis),
      yaxis: axis(layout.yaxis),
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { color: colour("ink"), size: 12, family: "system-ui, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif" },
      hoverlabel: { bgcolor: colour("card"), font: { color: colour("ink") } },
      margin: { l: 58, r: 12, t: 8, b: 46 },
      legend: { orientation: "h", traceorder: "normal", y: 1.02, yanchor: "bottom", x: 0 },
    };
  }

  function draw(id) {
    const chart = page.charts[id];
    const style = getComputedStyle(root);
    const layout = dressed(paint(chart.layout, "", style), style);
    if (printing) Object.assign(layout, paper(id, layout));
    return Plotly.react(id, paint(chart.data, "", style), layout, config);
  }

  // Charts are drawn when they come near the viewport, so that the page opens at once.
  const near = new Set();
  const observer = new IntersectionObserver((entries) => {
    const drawn = entries.map((entry) => {
      if (!entry.isIntersecting) { near.delete(entry.target.id); return null; }
      near.add(entry.target.id);
      return draw(entry.target.id);
    });
    // Two frames later the charts are on the screen.
    Promise.all(drawn).then(() => requestAnimationFrame(() => requestAnimationFrame(() => {
      if (root.dataset.drawn) return;
      performance.mark("drawn");
      root.dataset.drawn = "true";
    })));
  }, { rootMargin: "200px" });

  // ---- the slider: all numbers were computed in advance, over all rows ----
  function at(level) {
    const now = page.levels[level - 1];
    document.getElementById("level-text").textContent = now.level;
    slider.setAttribute("aria-valuetext", `${now.level}, covered ${now.models.map((model) => model.covered).join(", ")}`);
    now.models.forEach((model, index) => {
      const row = document.querySelector(`tr[data-model="${index}"]`);
      const show = (name, text) => { row.querySelector(`[data-stat="${name}"]`).textContent = text; };
      show("covered", model.covered);
      show("band", now.band);
      show("width", model.width);
      show("state", model.state);
    });
    moveSpecs(level);
  }

  function moveSpecs(level) {
    page.intervals.forEach((rows) => {
      const data = page.charts[rows.chart].data;
      data[0].y = rows.lower[level - 1];
      data[1].y = rows.upper[level - 1];
      data[3].y = rows.y.map((value, i) => (rows.first[i] <= level ? value : null));
      data[4].y = rows.y.map((value, i) => (rows.first[i] > level ? value : null));
      fillTable(rows, level);
    });
    page.boxes.forEach((box, index) => {
      for (const [key, values] of Object.entries(box)) page.charts.widths.data[index][key] = [values[level - 1]];
    });
    const reliability = page.charts.reliability;
    const first = reliability.data.length - page.boxes.length;
    page.boxes.forEach((_, index) => {
      const point = reliability.data[first + index];
      point.x = [level];
      point.y = [reliability.data[3 + index].y[level - 1]];
    });
    reliability.layout.shapes = [
      { type: "line", x0: level, x1: level, y0: 0, y1: 100, line: { color: "@grey", dash: "dot", width: 1 } },
    ];
  }

  const moving = [...page.intervals.map((rows) => rows.chart), "widths", "reliability"];

  // The table behind the intervals follows the slider; it is filled when it is opened.
  function fillTable(rows, level) {
    const table = document.querySelector(`table[data-intervals="${rows.chart}"]`);
    if (!table.closest("details").open) return;
    const names = ["row", "observed", "median", "lower", "upper", "covered"];
    const line = (cells, tag) => {
      const row = document.createElement("tr");
      for (const text of cells) row.appendChild(document.createElement(tag)).textContent = text;
      return row;
    };
    table.tHead.replaceChildren(line(names, "th"));
    table.tBodies[0].replaceChildren(...rows.y.map((value, i) => line([
      i + 1, value, rows.median[i], rows.lower[level - 1][i], rows.upper[level - 1][i],
      rows.first[i] <= level ? "yes" : "no",
    ], "td")));
  }

  let waiting = false;
  slider.addEventListener("input", () => {
    at(Number(slider.value));
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; moving.filter((id) => near.has(id)).forEach(draw); });
  });
  for (const rows of page.intervals) {
    const details = document.querySelector(`table[data-intervals="${rows.chart}"]`).closest("details");
    details.addEventListener("toggle", () => fillTable(rows, Number(slider.value)));
  }

  // ---- light and dark ----
  const system = matchMedia("(prefers-color-scheme: dark)");
  let chosen = null;
  function applyTheme(dark) {
    root.dataset.theme = dark ? "dark" : "light";
    toggle.setAttribute("aria-pressed", String(dark));
  }
  const redraw = () => near.forEach(draw);
  toggle.addEventListener("click", () => {
    chosen = root.dataset.theme !== "dark";
    applyTheme(chosen);
    redraw();
  });
  system.addEventListener("change", () => {
    if (chosen === null) { applyTheme(system.matches); redraw(); }
  });
  // Paper is white, shows every chart, and has a width that scripts can't query.
  addEventListener("beforeprint", () => {
    printing = true;
    applyTheme(false);
    Object.keys(page.charts).forEach(draw);
  });
  addEventListener("afterprint", () => {
    printing = false;
    applyTheme(chosen === null ? system.matches : chosen);
    Object.keys(page.charts).forEach(draw);
  });

  applyTheme(system.matches);
  slider.value = page.start; // some browsers restore an older position
  at(page.start);
  performance.mark("usable");
  // Plotly is at the end of the document.
  addEventListener("DOMContentLoaded", () => {
    Object.keys(page.charts).forEach((id) => observer.observe(document.getElementById(id)));
  });
})();
