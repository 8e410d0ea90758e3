"use strict";
// The calibration report: what follows the slider.
(() => {
  const { page, bounds, percent, escaped, fillTable, follow, start } = window.report;
  const slider = document.getElementById("level");

  function showLevel(level) {
    const now = page.levels[level - 1];
    slider.setAttribute("aria-valuetext", `${level}%, covered ${now.models.map((model) => model.covered).join(", ")}`);
    now.models.forEach((model, index) => {
      const row = document.querySelector(`tr[data-model="${index}"]`);
      const show = (name, text) => { row.querySelector(`[data-stat="${name}"]`).textContent = text; };
      show("covered", model.covered);
      show("band", now.band);
      show("width", model.width);
      show("state", model.state);
    });
  }

  function moveCharts(level) {
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

  follow(showLevel, []);
  follow(moveCharts, [...page.intervals, ...page.slices].map((each) => each.chart).concat("widths", "reliability"));
  start();
})();
