"use strict";
// Pick a row or a slice, by search or click, and see what the model said about it.
(() => {
  const { page, bounds, percent, escaped, tableRow, fillTable, follow, level, redraw, onClick } = window.report;
  const MOST_RESULTS = 8, MOST_SLICES = 5;
  const SHOWN_QUANTILES = [1, 5, 10, 25, 50, 75, 90, 95, 99];
  const element = (id) => document.getElementById(id);
  const field = element("ask");
  const rows = page.rows;
  const colour = (index) => `@m${index % 7}`;

  // ---- everything that can be picked, with the text that the search looks at ----
  const inputs = (row) => rows.inputs.map(([name, values]) => [name, values[row]]);
  const things = [
    ...page.slices.flatMap((chart, source) => chart.models[0].names.map((name, slice) => ({
      kind: "slice", source, slice, title: `${chart.source}: ${name}`, text: `${chart.source} ${name}`,
    }))),
    ...rows.label.map((label, row) => ({
      kind: "row", row, title: `Row ${label}`, text: `row ${label} ${inputs(row).map((pair) => pair.join(" ")).join(" ")}`,
    })),
  ];
  things.forEach((thing) => { thing.text = thing.text.toLowerCase(); });
  const rowThing = (row) => things.find((thing) => thing.kind === "row" && thing.row === row);
  const sliceThing = (source, slice) => things.find((thing) => thing.kind === "slice" && thing.source === source && thing.slice === slice);

  function button(text, action) {
    const made = document.createElement("button");
    made.type = "button";
    made.className = "link";
    made.textContent = text;
    made.addEventListener("click", action);
    return made;
  }

  // ---- search: every word must occur; Enter picks the first result ----
  let found = [];
  function search() {
    const words = field.value.toLowerCase().split(/[\s=:,]+/).filter(Boolean);
    found = words.length ? things.filter((thing) => words.every((word) => thing.text.includes(word))) : [];
    const phrase = words.join(" ");
    const rank = (thing) => (thing.text.endsWith(phrase) || thing.text.includes(phrase + " ") ? 0 : 1);
    found.sort((a, b) => rank(a) - rank(b)); // stable: slices before rows
    const shown = found.slice(0, MOST_RESULTS).map((thing) => {
      const item = document.createElement("li");
      item.append(button(thing.title, () => pick(thing)));
      if (thing.kind === "row") {
        const hint = item.appendChild(document.createElement("span"));
        hint.className = "quiet";
        hint.textContent = " " + inputs(thing.row).slice(0, 4).map((pair) => pair.join(" ")).join(", ");
      }
      return item;
    });
    element("ask-results").replaceChildren(...shown);
    if (words.length) {
      const more = found.length > MOST_RESULTS ? `, the first ${MOST_RESULTS} are shown` : "";
      element("ask-count").textContent = found.length ? `${found.length} found${more}.` : "Nothing found among the rows and slices of this page.";
    }
  }
  field.addEventListener("input", search);
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && found.length) { pick(found[0]); element("answer").focus(); }
  });

  // ---- the answer ----
  let current = null;
  function pick(thing) {
    current = thing;
    show(level());
    redraw("detail");
  }

  function show(at) {
    if (!current) return;
    element("answer-title").textContent = current.title;
    if (current.kind === "row") showRow(current.row, at); else showSlice(current, at);
  }

  function setTable(id, caption, head, lines) {
    const table = element(id);
    table.caption.textContent = caption;
    table.tHead.replaceChildren(...(lines.length ? [tableRow(head, head, "th")] : []));
    table.tBodies[0].replaceChildren(...lines.map((cells) => tableRow(cells, head, "td")));
    table.hidden = !lines.length;
  }

  function setDetail(title, description, data, layout, head, lines) {
    const figure = element("detail-figure");
    figure.querySelector("h3").textContent = title;
    figure.querySelector("figcaption").textContent = description;
    element("detail").setAttribute("aria-label", `${title}. ${description}`);
    Object.assign(page.charts.detail, { data, layout: { ...layout, height: 320 } });
    fillTable("detail", "detail", head, () => lines, true);
  }

  // Density around quantiles, from 8% of the mass: less would show the kinks of a map, or samples.
  function density(quantiles) {
    const x = [], y = [];
    const least = (quantiles[198] - quantiles[0]) / 500 || 1e-9;
    for (let k = 1; k < 198; k += 1) {
      const reach = Math.min(8, k, 198 - k);
      const [low, high] = [quantiles[k - reach], quantiles[k + reach]];
      x.push((low + high) / 2);
      y.push((2 * reach) / 200 / Math.max(high - low, least));
    }
    return { x, y };
  }

  function showRow(row, at) {
    const observed = rows.y[row];
    const data = rows.models.flatMap((model, index) => {
      const { x, y } = density(model.quantiles[row]);
      const [low, high] = bounds(model.quantiles[row], at);
      const inside = x.map((value) => value >= low && value <= high);
      return [
        { type: "scatter", mode: "lines", x: x.filter((_, k) => inside[k]), y: y.filter((_, k) => inside[k]), line: { width: 0 },
          fill: "tozeroy", fillcolor: `${colour(index)}-fill`, hoverinfo: "skip", showlegend: false },
        { type: "scatter", mode: "lines", x, y, line: { color: colour(index), width: 2 }, name: escaped(model.name), hoverinfo: "skip",
          showlegend: rows.models.length > 1 },
      ];
    });
    const ends = [observed, ...data.flatMap((trace) => [trace.x[0], trace.x[trace.x.length - 1]])].filter(Number.isFinite);
    const [least, most] = [Math.min(...ends), Math.max(...ends)];
    const layout = {
      xaxis: { title: { text: escaped(page.target) }, zeroline: false, range: [least - 0.05 * (most - least), most + 0.05 * (most - least)] },
      yaxis: { title: { text: "density" }, rangemode: "tozero", showticklabels: false, zeroline: false },
      shapes: [{ type: "line", x0: observed, x1: observed, yref: "paper", y0: 0, y1: 1, line: { color: "@ink", width: 2, dash: "dot" } }],
    };
    setDetail(`Density of row ${rows.label[row]}`,
      `Predictive density of ${page.target}; the ${at}% interval is shaded, the dotted line is the observed ${observed}.`, data, layout,
      ["quantile", ...rows.models.map((model) => model.name)],
      SHOWN_QUANTILES.map((q) => [`${q}%`, ...rows.models.map((model) => model.quantiles[row][2 * q - 1])]));
    setTable("answer-models", "At the coverage of the slider", ["model", "observed", "median", `${at}% interval`, "covered", "PIT"],
      rows.models.map((model) => {
        const [low, high] = bounds(model.quantiles[row], at);
        return [model.name, observed, model.quantiles[row][99], `${low} to ${high}`, model.first[row] <= at ? "yes" : "no", model.pit[row]];
      }));
    showInputs(row);
    const own = page.slices.map((chart, source) => ({ chart, source, slice: chart.models[0].of_rows[row] })).filter((each) => each.slice >= 0);
    const lines = own.map(({ chart, source, slice }) => sliceLine(chart, source, slice, at)).sort((a, b) => b.off - a.off);
    setTable("answer-others", "Its slices, furthest off first", ["slice", "rows", "covered", "chance gives"],
      lines.slice(0, MOST_SLICES).map((line) => line.cells));
  }

  function showInputs(row) {
    const list = document.createElement("dl");
    for (const [name, value] of row === null ? [] : inputs(row)) {
      list.appendChild(document.createElement("dt")).textContent = name;
      list.appendChild(document.createElement("dd")).textContent = value;
    }
    element("answer-inputs").replaceChildren(...(list.children.length ? [list] : []));
  }

  function sliceLine(chart, source, slice, at) {
    const model = chart.models[0];
    const covered = model.covered[slice][at - 1];
    const [low, high] = chart.bands[model.n[slice]].map((end) => end[at - 1]);
    return {
      off: Math.max(low - covered, covered - high),
      cells: [button(`${chart.source}: ${model.names[slice]}`, () => pick(sliceThing(source, slice))),
        model.n[slice].toLocaleString("en"), percent(covered), `${percent(low)} to ${percent(high)}`],
    };
  }

  function showSlice({ source, slice, title }, at) {
    const chart = page.slices[source];
    const models = chart.models.filter((model) => slice < model.n.length);
    const n = models[0].n[slice];
    const x = Array.from({ length: 99 }, (_, k) => k + 1);
    const band = chart.bands[n];
    const line = (y, more) => ({ type: "scatter", mode: "lines", x, y, hoverinfo: "skip", ...more });
    const data = [
      line(band[0], { line: { width: 0 }, showlegend: false }),
      line(band[1], { line: { width: 0 }, fill: "tonexty", fillcolor: "@band", showlegend: false }),
      line(x, { line: { color: "@grey", width: 1 }, showlegend: false }),
      ...models.map((model) => line(model.covered[slice], {
        line: { color: colour(model.model), width: 2 }, name: escaped(rows.models[model.model].name), showlegend: models.length > 1,
      })),
    ];
    const axis = (text) => ({ title: { text }, range: [0, 100], dtick: 20 });
    const layout = {
      xaxis: axis("nominal coverage (%)"), yaxis: axis("covered (%)"),
      shapes: [{ type: "line", x0: at, x1: at, y0: 0, y1: 100, line: { color: "@grey", dash: "dot", width: 1 } }],
    };
    setDetail(`Reliability of ${title}`,
      `Share of the ${n.toLocaleString("en")} targets inside the central interval at every coverage; the grey band holds a calibrated forecast.`,
      data, layout, ["coverage", ...models.map((model) => rows.models[model.model].name)],
      x.map((k) => [`${k}%`, ...models.map((model) => percent(model.covered[slice][k - 1]))]));
    setTable("answer-models", "At the coverage of the slider", ["model", "rows", "covered", "chance gives", "below the median"],
      models.map((model) => [rows.models[model.model].name, model.n[slice].toLocaleString("en"), percent(model.covered[slice][at - 1]),
        chart.bands[model.n[slice]].map((end) => percent(end[at - 1])).join(" to "), percent(model.below[slice])]));
    showInputs(null);
    const own = rows.label.map((_, row) => row).filter((row) => chart.models[0].of_rows[row] === slice);
    const first = rows.models[0].first;
    const worst = own.sort((a, b) => first[b] - first[a]).slice(0, MOST_RESULTS);
    setTable("answer-others", "Rows of this slice, most surprising first", ["row", "observed", "median"],
      worst.map((row) => [button(`Row ${rows.label[row]}`, () => pick(rowThing(row))), rows.y[row], rows.models[0].quantiles[row][99]]));
  }

  function pickAndScroll(thing) {
    if (!thing) return;
    pick(thing);
    element("ask-section").scrollIntoView({ behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
    element("answer").focus({ preventScroll: true });
  }

  for (const link of document.querySelectorAll("[data-pick]")) {
    link.addEventListener("click", () => pickAndScroll(rowThing(Number(link.dataset.pick))));
  }
  page.intervals.forEach((chart) => onClick(chart.chart, (point) => pickAndScroll(rowThing(chart.order[point.pointNumber]))));
  page.slices.forEach((chart, source) => onClick(chart.chart, (point) => pickAndScroll(sliceThing(source, point.pointNumber))));
  follow(show, ["detail"]);
  const surprise = document.querySelector("[data-pick]");
  if (surprise) pick(rowThing(Number(surprise.dataset.pick)));
})();
