// Figures are drawn when they come near the window, the others when there is nothing else to do:
// a page of twenty opens at once.
(() => {
  "use strict";
  const config = {displaylogo: false, responsive: true,
    modeBarButtonsToRemove: ["lasso2d", "select2d", "autoScale2d"],
    toImageButtonOptions: {format: "svg"}};
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
  // Dark, where the reader's system is: the palette keeps its hues, paper and ink change places.
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const inTheme = (text) => (!dark.matches || window.matchMedia("print").matches ? text
    : text.replaceAll("#1f2933", "#e4eaf0").replaceAll("#52606d", "#9dabb8").replaceAll("#9aa5b1", "#6b7885")
      .replaceAll("#eef1f4", "#2a3641").replaceAll("#e4e7eb", "#2a3641").replaceAll("#0072B2", "#58a9e0")
      .replaceAll("rgba(255,255,255,0.8)", "rgba(16,21,28,0.8)"));
  const places = [...document.querySelectorAll(".plot")];
  const draw = (place) => {
    if (place.dataset.drawn) return Promise.resolve();
    place.dataset.drawn = "yes";
    const figure = JSON.parse(inTheme(document.getElementById(place.dataset.figure).textContent));
    const layout = figure.layout;
    layout.paper_bgcolor = layout.plot_bgcolor = "rgba(0,0,0,0)";
    layout.modebar = {bgcolor: "rgba(0,0,0,0)", color: "#8a96a3", activecolor: "#5b8fb0"};
    place.style.minHeight = "";
    const narrow = place.clientWidth < 560;
    if (narrow) {
      layout.font = {...layout.font, size: 11};
      layout.margin = {...layout.margin, l: 48, r: 10, b: 52};
      for (const [name, axis] of Object.entries(layout)) {
        if (name.startsWith("yaxis")) { axis.automargin = true; }
        if (name.startsWith("xaxis") && !axis.tickvals) { axis.nticks = 5; axis.tickfont = {...axis.tickfont, size: 9}; }
        const part = name.startsWith("xaxis") && axis.domain && axis.domain[1] - axis.domain[0] < 0.45;
        if (part && axis.title?.text) { axis.title.text = axis.title.text.split(/ \(| between /)[0]; }
      }
    }
    return Plotly.newPlot(place, figure.data, layout, {...config, displayModeBar: narrow ? false : "hover"})
      .then(() => settle(place)).then(() => { place.on("plotly_relayout", () => settle(place)); });
  };
  const settle = (place) => {
    const changes = thinned(place);
    return Object.keys(changes).length ? Plotly.relayout(place, changes) : place;
  };
  for (const place of places) {
    const text = document.getElementById(place.dataset.figure).textContent;
    const height = /"height":\s*(\d+)/.exec(text);
    place.style.minHeight = (height ? height[1] : 400) + "px";
  }
  if ("IntersectionObserver" in window) {
    const seen = new IntersectionObserver((entries) => {
      for (const entry of entries) {
        if (entry.isIntersecting) { seen.unobserve(entry.target); draw(entry.target); }
      }
    }, {rootMargin: "600px 0px"});
    places.forEach((place) => seen.observe(place));
  } else {
    places.forEach(draw);
  }
  const later = window.requestIdleCallback || ((work) => setTimeout(work, 50));
  const rest = [...places];
  const next = () => {
    const place = rest.shift();
    if (place) { draw(place).then(() => later(next)); }
  };
  window.addEventListener("load", () => later(next));
  window.addEventListener("beforeprint", () => places.forEach(draw));
})();
