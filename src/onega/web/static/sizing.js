// Sliders and the curve that follows them.
import { ask, count } from "./common.js";
import { draw } from "./figures.js";

const form = document.getElementById("sizing");
const field = form.elements;
const message = form.querySelector(".message");
const verdict = form.querySelector("[data-verdict]");

// Sliders are logarithmic: sizes from the widest job to eight times the machine, shares from a tenth to ten times.
const factor = (value) => 10 ** (Number(value) / 100);
let range = [1, 1000];
let today = 1;
const size = () => field.procs.value === field.procs.defaultValue ? today
  : Math.round(range[0] * (range[1] / range[0]) ** (field.procs.value / 1000));
const times = (value) => `× ${Number(factor(value).toPrecision(3))}`;

function chosen() {
  const option = field.log.selectedOptions[0];
  form.querySelector("[data-own]").hidden = field.log.value !== "";
  const widest = field.log.value ? Number(option.dataset.widest)
    : Math.max(1, ...[...field.widths.value.matchAll(/(\d+):/g)].map((one) => Number(one[1])));
  const procs = field.log.value ? Number(option.dataset.procs) : 2 * widest;
  range = [widest, Math.min(200000, Math.max(8 * procs, widest + 1))];
  field.procs.value = 1000 * Math.log(procs / range[0]) / Math.log(range[1] / range[0]);
  field.procs.defaultValue = field.procs.value;
  today = Math.max(procs, widest);
  update();
}

// Marks at 1, 2, 5, 10, 20, 50, … processors.
const marks = [0, 1, 2, 3, 4, 5].flatMap((power) => [1, 2, 5].map((one) => one * 10 ** power));

function figures(answer) {
  const { curve, summary } = answer;
  const xaxis = { type: "log", title: { text: "processors" }, tickvals: marks, ticktext: marks.map(count) };
  const line = { color: "#0072B2", width: 2.5 };
  const here = { mode: "markers", showlegend: false, marker: { size: 12, color: { true: "#009E73", false: "#D55E00", null: "#52606d" }[summary.stable] }, x: [summary.procs] };
  const measured = curve.measured !== undefined;
  const usable = measured ? curve.measured : curve.utilisation_at_limit;
  const use = {
    data: [
      { x: curve.procs, y: usable.map((one) => 100 * one), mode: "lines", line, fill: "tozeroy", fillcolor: "rgba(0,114,178,0.13)", name: "can be used", hovertemplate: "%{x:,} processors: %{y:.1f} % can be used<extra></extra>" },
      { ...here, y: [100 * summary.utilisation_at_limit], hovertemplate: "here: %{y:.1f} % can be used<extra></extra>" },
    ],
    layout: {
      title: { text: "How much of the machine can be used, and how much is asked for", subtitle: { text: measured ? "first come, first served; measured with the log's own jobs, in their own order" : "first come, first served; by the formula" } },
      height: 400, xaxis, yaxis: { title: { text: "of the machine (%)" }, range: [0, 125], dtick: 25 }, legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom" }, margin: { t: 110 },
    },
  };
  const asked = (load, name, color, dash) => use.data.push({ x: curve.procs, y: curve.procs.map((one) => 100 * load * summary.procs / one), mode: "lines", line: { color, width: 2.5, dash }, name, hovertemplate: `%{x:,} processors: %{y:.1f} % ${name}<extra></extra>` });
  if (summary.offered_load !== null) asked(summary.offered_load, "is asked for", "#E69F00", "dash");
  if (summary.window_offered_load > summary.offered_load) asked(summary.window_offered_load, "is asked for while filled", "#D55E00", "dot");
  const top = Math.min(Math.max(...curve.rho.filter((one) => one !== null)), 2.2 * Math.max(summary.rho ?? 1, 1));
  const limit = { type: "line", xref: "paper", x0: 0, x1: 1, y0: 1, y1: 1, line: { color: "#52606d", dash: "dash", width: 1.5 } };
  const rho = {
    data: [
      { x: curve.procs, y: curve.rho, mode: "lines", line, showlegend: false, hovertemplate: "%{x:,} processors: ρ = %{y:.3f}<extra></extra>" },
      { ...here, y: [summary.rho], hovertemplate: "here: ρ = %{y:.3f}<extra></extra>" },
    ],
    layout: { title: { text: "ρ = λ·C·E[S] of the formula, by size of the machine", subtitle: { text: "for exponential run times and independent jobs the queue stays finite where the line is below 1" } }, height: 390, xaxis, yaxis: { title: { text: "ρ" }, range: [0, Math.max(1.15, 1.05 * top)] }, shapes: [limit] },
  };
  return [rho, use];
}

function list(where, sentences) {
  const place = form.querySelector(where);
  place.replaceChildren(...sentences.map((one) => {
    const item = document.createElement("li");
    item.textContent = one;
    return item;
  }));
  return sentences.length > 0;
}

let running = null;

async function update() {
  const told = { procs: count(size()), load: times(field.load.value), time: times(field.time.value) };
  for (const [name, text] of Object.entries(told)) {
    field[`${name}_out`].value = text;
    field[name].setAttribute("aria-valuetext", text);
  }
  const query = new URLSearchParams({ procs: size(), load_factor: factor(field.load.value), runtime_factor: factor(field.time.value) });
  if (field.log.value) query.set("log", field.log.value);
  else {
    query.set("widths", field.widths.value);
    if (field.per_hour.value) query.set("arrival_rate", field.per_hour.value / 3600);
    if (field.minutes.value) query.set("mean_runtime", field.minutes.value * 60);
  }
  running?.abort();
  running = new AbortController();
  try {
    const answer = await ask(`/api/sizing?${query}`, { signal: running.signal });
    message.textContent = "";
    verdict.textContent = answer.headline;
    verdict.className = `verdict ${answer.summary.stable === null ? "" : answer.summary.stable ? "yes" : "no"}`;
    const [rho, use] = figures(answer);
    await draw(form.querySelector("#use-figure"), use);
    // The formula's ρ only where it decides.
    const formula = answer.summary.rho !== null && answer.summary.formula_holds !== false;
    form.querySelector("#rho-figure").hidden = !formula;
    if (formula) await draw(form.querySelector("#rho-figure"), rho);
    list("[data-sentences]", answer.sentences);
    form.querySelector(".cautions").hidden = !list("[data-cautions]", answer.cautions);
  } catch (error) {
    if (error.name === "AbortError") return;
    message.textContent = error.message;
    verdict.textContent = "";
  }
}

field.log.addEventListener("change", chosen);
field.widths.addEventListener("change", chosen);
for (const name of ["procs", "load", "time", "per_hour", "minutes"]) field[name].addEventListener("input", update);
form.addEventListener("reset", () => setTimeout(chosen));
form.addEventListener("submit", (event) => event.preventDefault());
chosen();
