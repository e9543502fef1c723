// Colours before the first paint: the reader's choice, else the system's.
(function () {
  "use strict";
  const root = document.documentElement;
  let kept = null;
  try { kept = localStorage.getItem("onega-theme"); } catch { /* private mode: the system's */ }
  if (kept) root.dataset.theme = kept;
  addEventListener("DOMContentLoaded", () => {
    document.getElementById("theme").addEventListener("click", () => {
      const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
      root.dataset.theme = (root.dataset.theme || system) === "dark" ? "light" : "dark";
      try { localStorage.setItem("onega-theme", root.dataset.theme); } catch { /* as above */ }
      dispatchEvent(new Event("themechange"));
    });
  });
})();
