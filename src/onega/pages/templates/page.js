// Figures are drawn when they come near the window, the others when there is nothing else to do:
// a page of twenty opens at once.
(() => {
  "use strict";
  const config = {displaylogo: false, responsive: true,
    modeBarButtonsToRemove: ["lasso2d", "select2d", "autoScale2d"],
    toImageButtonOptions: {format: "svg"}};
  const places = [...document.querySelectorAll(".plot")];
  const draw = (place) => {
    if (place.dataset.drawn) return Promise.resolve();
    place.dataset.drawn = "yes";
    const figure = JSON.parse(document.getElementById(place.dataset.figure).textContent);
    const layout = figure.layout;
    place.style.minHeight = "";
    const narrow = place.clientWidth < 560;
    if (narrow) {
      layout.font = {...layout.font, size: 11};
      layout.margin = {...layout.margin, l: 48, r: 10, b: 52};
      for (const [name, axis] of Object.entries(layout)) {
        if (name.startsWith("yaxis")) { axis.automargin = true; }
        if (name.startsWith("xaxis") && !axis.tickvals) { axis.nticks = 5; }
      }
    }
    return Plotly.newPlot(place, figure.data, layout, {...config, displayModeBar: narrow ? false : "hover"});
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
