import { ask } from "./common.js";
import { draw, figurePickers } from "./figures.js";
import { Viewer } from "./viewer.js";

for (const place of document.querySelectorAll("[data-viewer]")) new Viewer(place);

const picker = document.getElementById("distribution");
const place = document.getElementById("distribution-figure");

async function distribution() {
  try {
    const found = await ask(`/api/compare?runs=${picker.dataset.runs}&figure=${picker.value}`);
    await draw(place, found.figure);
  } catch (error) {
    place.textContent = error.message;
  }
}

picker.addEventListener("change", distribution);
distribution();
figurePickers();
