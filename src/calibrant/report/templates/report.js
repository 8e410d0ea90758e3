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
    followers.forEach((follow) => follow(level));
  }

  function moveSpecs(level) {
    page.intervals.forEach((chart) => moveIntervals(chart, level));
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
    page.slices.forEach((chart) => moveSlices(chart, level));
  }

  // Quantiles of a row are at 0.5%, 1% ... 99.5%: those of the median are in the middle.
  const bounds = (quantiles, level) => [quantiles[99 - level], quantiles[99 + level]];

  function moveIntervals(chart, level) {
    const { quantiles, first } = page.rows.models[chart.model];
    const data = page.charts[chart.chart].data;
    const ends = chart.order.map((row) => bounds(quantiles[row], level));
    const drawn = (value) => (chart.least === null ? value : Math.max(value, chart.least));
    data[0].y = ends.map((end) => drawn(end[0]));
    data[1].y = ends.map((end) => drawn(end[1]));
    const observed = (wanted) => chart.order.map((row) => (first[row] <= level === wanted ? page.rows.y[row] : null));
    data[3].y = observed(true);
    data[4].y = observed(false);
    for (const trace of data.slice(2)) trace.text = chart.order.map((row) => escaped("row " + page.rows.label[row]));
    fillTable("intervals", chart.chart, ["row", "observed", "median", "lower", "upper", "covered"], () => chart.order.map((row, i) => [
      page.rows.label[row], page.rows.y[row], quantiles[row][99], ...ends[i], first[row] <= level ? "yes" : "no",
    ]));
  }

  // ---- slices: bars of chance and points of coverage ----
  const percent = (value) => value.toFixed(1) + "%";
  const escaped = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

  function moveSlices(chart, level) {
    const spec = page.charts[chart.chart];
    const band = (n) => chart.bands[n].map((end) => end[level - 1]);
    const widest = chart.models.reduce((a, b) => (b.n.length > a.n.length ? b : a));
    spec.layout.shapes = widest.n.map((n, k) => {
      const [low, high] = band(n);
      return { type: "rect", layer: "below", x0: k - 0.4, x1: k + 0.4, y0: low, y1: high, fillcolor: "@band", line: { width: 0 } };
    });
    spec.layout.shapes.push({ type: "line", x0: -0.5, x1: widest.n.length - 0.5, y0: level, y1: level, line: { color: "@grey" } });
    // Shapes do not count for the range of an axis.
    const ends = chart.models.flatMap((model) => [...model.n.flatMap(band), ...model.covered.map((curve) => curve[level - 1])]);
    const [least, most] = [Math.min(...ends), Math.max(...ends)];
    spec.layout.yaxis.range = [least - 0.08 * (most - least), most + 0.08 * (most - least)];
    chart.models.forEach((model, index) => {
      const covered = model.covered.map((curve) => curve[level - 1]);
      spec.data[index].y = covered;
      spec.data[index].text = covered.map((share, k) => escaped(`${model.names[k]}: ${percent(share)} of ${model.n[k].toLocaleString("en")} rows`));
    });
    const models = page.rows.models;
    fillTable("slices", chart.chart, ["model", "slice", "rows", "covered", "chance from", "to"], () => chart.models.flatMap((model) =>
      model.names.map((name, k) => [
        models[model.model].name, name, model.n[k].toLocaleString("en"), percent(model.covered[k][level - 1]), ...band(model.n[k]).map(percent),
      ])));
  }

  // Tables behind charts that follow the slider are filled when they are opened.
  function fillTable(kind, id, head, rows, force) {
    const table = document.querySelector(`table[data-${kind}="${id}"]`);
    if (!force && !table.closest("details").open) return;
    table.tHead.replaceChildren(tableRow(head, head, "th"));
    table.tBodies[0].replaceChildren(...rows().map((cells) => tableRow(cells, head, "td")));
  }

  function tableRow(cells, head, tag) {
    const row = document.createElement("tr");
    cells.forEach((content, k) => {
      const cell = row.appendChild(document.createElement(tag));
      if (tag === "th") cell.scope = "col"; else cell.dataset.label = head[k];
      if (content instanceof Node || String(content).length > 20) cell.className = "text"; // may break anywhere
      cell.append(content);
    });
    return row;
  }

  const moving = [...page.intervals, ...page.slices].map((each) => each.chart).concat("widths", "reliability", "detail");
  const followers = []; // other scripts that follow the slider

  let waiting = false;
  slider.addEventListener("input", () => {
    at(Number(slider.value));
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; moving.filter((id) => near.has(id)).forEach(draw); });
  });
  for (const details of document.querySelectorAll("figure details")) {
    details.addEventListener("toggle", () => moveSpecs(Number(slider.value)));
  }

  // ---- light and dark ----
  const system = matchMedia("(prefers-color-scheme: dark)");
  let chosen = null;
  function applyTheme(dark) {
    root.dataset.theme = dark ? "dark" : "light";
    toggle.textContent = `Switch to ${dark ? "light" : "dark"} theme`;
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

  // For ask.js: what is picked is drawn like the rest.
  window.report = {
    page, bounds, percent, escaped, tableRow, fillTable, followers,
    level: () => Number(slider.value),
    redraw: (id) => { if (near.has(id)) draw(id); },
    onClick: (id, action) => {
      const chart = document.getElementById(id);
      new MutationObserver((_, watch) => {
        if (!chart.on) return;
        watch.disconnect();
        chart.on("plotly_click", (event) => action(event.points[0]));
      }).observe(chart, { childList: true, subtree: true });
    },
  };

  applyTheme(system.matches);
  slider.value = page.start; // some browsers restore an older position
  at(page.start);
  performance.mark("usable");
  // Plotly is at the end of the document.
  addEventListener("DOMContentLoaded", () => {
    Object.keys(page.charts).forEach((id) => observer.observe(document.getElementById(id)));
  });
})();
