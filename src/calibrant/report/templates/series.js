"use strict";
// The page of a series: the chosen forecast as a fan, and coverage by step, at the slider's level.
(() => {
  const { page, bounds, percent, escaped, fillTable, follow, level, redraw, onClick, start } = window.report;
  const chosenFan = document.getElementById("fan-choice");
  const chosenStep = document.getElementById("step-choice");
  const MIDDLE = 50; // coverage of the dark band
  const MEDIAN = 99; // of the 199 quantiles of a row
  const xs = (values) => values.map((_, k) => k + 1);

  // ---- the fan: bands start at the last value that was known ----
  function band(fan, at) {
    const known = fan.past.y.length && fan.past.y[fan.past.y.length - 1] !== null;
    const lead = known ? [[fan.past.x[fan.past.x.length - 1], fan.past.y[fan.past.y.length - 1]]] : [];
    const ends = fan.quantiles.map((row) => bounds(row, at));
    const upper = [...lead, ...ends.map((end, k) => [fan.x[k], end[1]])];
    const lower = [...lead, ...ends.map((end, k) => [fan.x[k], end[0]])];
    const outline = [...upper, ...lower.reverse()];
    return { x: outline.map((point) => point[0]), y: outline.map((point) => point[1]) };
  }

  function showFan(at) {
    const fan = page.fans[Number(chosenFan.value)];
    document.querySelector("#fan-figure h3").textContent = fan.name;
    const [wide, middle, observed, median, covered, outside] = page.charts.fan.data;
    Object.assign(wide, band(fan, at), { name: `${at}%` });
    Object.assign(middle, band(fan, MIDDLE));
    Object.assign(observed, fan.past);
    const ends = fan.quantiles.map((row) => bounds(row, at));
    const medians = fan.quantiles.map((row) => row[MEDIAN]);
    Object.assign(median, {
      x: fan.x, y: medians, hoverinfo: "x+text",
      text: medians.map((value, k) => escaped(`median ${value}, ${at}% interval ${ends[k][0]} to ${ends[k][1]}`)),
    });
    const inside = ends.map(([low, high], k) => (fan.y && fan.y[k] !== null ? low <= fan.y[k] && fan.y[k] <= high : null));
    const outcomes = (wanted) => ({ x: fan.x, y: inside.map((is, k) => (is === wanted ? fan.y[k] : null)), showlegend: Boolean(fan.y) });
    Object.assign(covered, outcomes(true));
    Object.assign(outside, outcomes(false));
    const head = ["time", "lower", "median", "upper", ...(fan.y ? ["observed", "covered"] : [])];
    fillTable("fan", "fan", head, () => fan.x.map((time, k) => [
      time, ends[k][0], medians[k], ends[k][1],
      ...(fan.y ? [fan.y[k] === null ? "" : fan.y[k], { true: "yes", false: "no", null: "" }[inside[k]]] : []),
    ]));
  }
  chosenFan.addEventListener("change", () => { showFan(level()); redraw("fan"); });
  follow(showFan, ["fan"]);

  // ---- coverage by step, and all levels of one step ----
  const steps = page.steps;
  const several = "steps" in page.charts; // one step has no chart over the steps

  function showSteps(at) {
    const ends = steps.n.map((n) => steps.bands[n].map((end) => end[at - 1]));
    const covered = steps.covered.map((curve) => curve[at - 1]);
    const { data, layout } = page.charts.steps;
    Object.assign(data[0], { x: steps.step, y: ends.map((end) => end[0]) });
    Object.assign(data[1], { x: steps.step, y: ends.map((end) => end[1]) });
    Object.assign(data[2], { x: steps.step, y: covered });
    layout.shapes = [
      { type: "line", xref: "paper", x0: 0, x1: 1, y0: at, y1: at, line: { color: "@grey", width: 1 } },
      { type: "line", yref: "paper", x0: steps.step[chosenStep.value], x1: steps.step[chosenStep.value], y0: 0, y1: 1, line: { color: "@grey", width: 1, dash: "dot" } },
    ];
    fillTable("steps", "steps", ["steps ahead", "forecasts", "covered", "chance from", "to"], () => steps.step.map((step, k) => [
      step, steps.n[k].toLocaleString("en"), percent(covered[k]), ...ends[k].map(percent),
    ]));
  }

  function showStep(at) {
    const index = Number(chosenStep.value);
    const [low, high] = steps.bands[steps.n[index]];
    const covered = steps.covered[index];
    const { data, layout } = page.charts.step;
    const ahead = `${steps.step[index]} step${steps.step[index] > 1 ? "s" : ""} ahead`;
    document.querySelector("#step-figure h3").textContent = `Reliability ${ahead}`;
    Object.assign(data[0], { x: xs(low), y: low });
    Object.assign(data[1], { x: xs(high), y: high });
    Object.assign(data[3], { x: xs(covered), y: covered });
    layout.shapes = [{ type: "line", x0: at, x1: at, y0: 0, y1: 100, line: { color: "@grey", dash: "dot", width: 1 } }];
    fillTable("step", "step", ["coverage", "covered", "chance from", "to"], () => covered.map((share, k) => [
      `${k + 1}%`, percent(share), percent(low[k]), percent(high[k]),
    ]));
  }

  function pickStep(index) {
    chosenStep.value = index;
    showSteps(level());
    showStep(level());
    redraw("steps");
    redraw("step");
  }
  if (steps) follow(showStep, ["step"]);
  if (several) {
    chosenStep.addEventListener("change", () => pickStep(chosenStep.value));
    onClick("steps", (point) => pickStep(point.pointNumber));
    follow(showSteps, ["steps"]);
  }
  start();
})();
