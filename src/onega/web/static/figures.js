// Plotly's figures in the page's colours, with titles as text; Plotly itself is loaded when needed.
import { ask } from "./common.js";

let loading = null;

export function plotly() {
  loading ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = "/plotly.js";
    script.addEventListener("load", () => resolve(globalThis.Plotly));
    script.addEventListener("error", () => reject(new Error("Plotly's script can't be loaded")));
    document.head.append(script);
  });
  return loading;
}

export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

const shown = new Map();
const CONFIG = { displaylogo: false, responsive: true, displayModeBar: false };

// Okabe and Ito's palette as the server draws it, and the page's own shades of it.
const PALETTE = ["#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#8a8f98"];

function inThemeColours(figure) {
  let text = JSON.stringify(figure).replaceAll("#1f2933", colour("ink")).replaceAll("#52606d", colour("muted"))
    .replaceAll("rgba(255,255,255,0.8)", `${colour("card")}cc`);
  PALETTE.forEach((one, place) => { text = text.replaceAll(one, colour(`c${place}`)); });
  const { data, layout } = JSON.parse(text);
  for (const [name, axis] of Object.entries(layout)) {
    if (/^yaxis/.test(name)) axis.automargin = true; // wide numbers push the axis' title aside
    if (/^[xy]axis/.test(name)) Object.assign(axis, { gridcolor: colour("line"), linecolor: colour("muted"), zerolinecolor: colour("line") });
  }
  Object.assign(layout, { paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", colorway: PALETTE.map((_, place) => colour(`c${place}`)) });
  layout.font = { ...layout.font, family: getComputedStyle(document.body).fontFamily, size: 12, color: colour("ink") };
  layout.hoverlabel = { bgcolor: colour("card"), bordercolor: colour("line"), font: { color: colour("ink") } };
  delete layout.template;
  return { data, layout };
}

function plain(text) {
  return new DOMParser().parseFromString(text || "", "text/html").body.textContent;
}

// Marks of an axis that would touch are left out; others come back as one zooms in.
const marks = new WeakMap();
function thinned(plot) {
  const changes = {};
  for (const [name, axis] of Object.entries(plot._fullLayout)) {
    if (!/^xaxis/.test(name) || axis.tickmode !== "array" || !axis.ticktext) continue;
    const known = marks.get(plot) ?? marks.set(plot, new Map()).get(plot);
    if (!known.has(name)) known.set(name, [...axis.tickvals].map((value, place) => [value, axis.ticktext[place]]));
    const at = (value) => (axis.type === "log" ? Math.log10(value) : value);
    const [low, high] = [...axis.range].sort((a, b) => a - b);
    const kept = [];
    let free = -Infinity;
    for (const [value, text] of known.get(name)) {
      const middle = (at(value) - low) / (high - low) * axis._length;
      const half = String(text).length * 3.4 + 4;
      if (middle < -1 || middle > axis._length + 1 || middle - half < free) continue;
      kept.push([value, text]);
      free = middle + half;
    }
    if (kept.length !== axis.tickvals.length || kept.some((one, place) => one[0] !== axis.tickvals[place])) {
      changes[`${name}.tickvals`] = kept.map((one) => one[0]);
      changes[`${name}.ticktext`] = kept.map((one) => one[1]);
    }
  }
  return changes;
}

async function settle(Plotly, plot) {
  const changes = thinned(plot);
  if (Object.keys(changes).length) await Plotly.relayout(plot, changes);
}

export async function draw(place, figure) {
  shown.set(place, figure);
  const Plotly = await plotly();
  if (shown.get(place) !== figure) return;
  const { data, layout } = inThemeColours(figure);
  const title = plain(layout.title?.text);
  const note = plain(layout.title?.subtitle?.text);
  delete layout.title;
  let plot = place.querySelector(".plot");
  if (!plot) {
    place.innerHTML = '<h3></h3><p class="note"></p><div class="plot"></div>';
    plot = place.querySelector(".plot");
  }
  place.querySelector("h3").textContent = title;
  place.querySelector(".note").textContent = note;
  const narrow = place.clientWidth < 560;
  const legend = data.some((trace) => trace.name && trace.showlegend !== false);
  layout.margin = { l: narrow ? 58 : 72, r: narrow ? 10 : 28, t: legend ? 44 : 14, b: 56 };
  layout.height = Math.max(260, (layout.height || 460) - 110);
  if (narrow) layout.height = Math.min(layout.height, 380);
  delete layout.width;
  layout.autosize = true;
  layout.dragmode = "pan";
  plot.setAttribute("role", "img");
  plot.setAttribute("aria-label", `${title}. ${note}`);
  marks.delete(plot);
  await Plotly.react(plot, data, layout, CONFIG);
  await settle(Plotly, plot);
  if (!plot.dataset.settles) {
    plot.dataset.settles = "yes";
    plot.on("plotly_relayout", () => settle(Plotly, plot));
  }
  place.dataset.drawn = title;
}

addEventListener("themechange", () => { for (const [place, figure] of shown) draw(place, figure); });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => dispatchEvent(new Event("themechange")));

// The answer is a figure, or has one.
export async function show(place, url) {
  try {
    const answer = await ask(url);
    await draw(place, answer.figure ?? answer);
  } catch (error) {
    place.textContent = error.message;
  }
}

// A <select data-figures> shows the chosen figure, once it comes into view.
export function figurePickers() {
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries.filter((one) => one.isIntersecting)) {
      seen.unobserve(entry.target);
      entry.target.picker.dispatchEvent(new Event("change"));
    }
  }, { rootMargin: "200px" });
  for (const picker of document.querySelectorAll("select[data-figures]")) {
    const place = document.getElementById(picker.dataset.into);
    picker.addEventListener("change", () => { if (picker.value) show(place, picker.dataset.figures + encodeURIComponent(picker.value)); });
    place.picker = picker;
    seen.observe(place);
  }
}
