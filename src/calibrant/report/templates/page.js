"use strict";
// What every page does: draw charts in the colours of a theme, follow the slider, print.
(() => {
  const page = JSON.parse(document.getElementById("page-data").textContent);
  const root = document.documentElement;
  const slider = document.getElementById("level");
  const toggle = document.getElementById("theme");
  // Print sizes in CSS pixels: the columns of page.css, and a height that fills most pages.
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

  // ---- the slider: all numbers were computed in advance ----
  const actions = []; // called with the chosen level, in order
  const moving = []; // charts that an action changes
  const level = () => Number(slider.value);
  function at(chosen) {
    document.getElementById("level-text").textContent = `${chosen}%`;
    slider.setAttribute("aria-valuetext", `${chosen}%`); // an action may add to it
    actions.forEach((action) => action(chosen));
  }

  let waiting = false;
  slider.addEventListener("input", () => {
    at(level());
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; moving.filter((id) => near.has(id)).forEach(draw); });
  });
  for (const details of document.querySelectorAll("figure details")) {
    details.addEventListener("toggle", () => at(level()));
  }

  // ---- numbers, text and tables ----
  // Quantiles of a row are at 0.5%, 1% ... 99.5%: those of the median are in the middle.
  const bounds = (quantiles, chosen) => [quantiles[99 - chosen], quantiles[99 + chosen]];
  const percent = (value) => value.toFixed(1) + "%";
  const escaped = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

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

  // For the scripts of the pages.
  window.report = {
    page, bounds, percent, escaped, tableRow, fillTable, level,
    follow: (action, charts) => { actions.push(action); moving.push(...charts); },
    redraw: (id) => { if (near.has(id)) draw(id); },
    onClick: (id, action) => {
      const chart = document.getElementById(id);
      new MutationObserver((_, watch) => {
        if (!chart.on) return;
        watch.disconnect();
        chart.on("plotly_click", (event) => action(event.points[0]));
      }).observe(chart, { childList: true, subtree: true });
    },
    // The slider is usable from here on; charts wait for plotly, at the end of the document.
    start: () => {
      applyTheme(system.matches);
      slider.value = page.start; // some browsers restore an older position
      at(page.start);
      performance.mark("usable");
      addEventListener("DOMContentLoaded", () => {
        Object.keys(page.charts).forEach((id) => observer.observe(document.getElementById(id)));
      });
    },
  };
})();
