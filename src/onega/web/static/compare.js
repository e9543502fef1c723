import { figurePickers, show } from "./figures.js";
import { Viewer } from "./viewer.js";

for (const place of document.querySelectorAll("[data-viewer]")) new Viewer(place);

const picker = document.getElementById("distribution");
const place = document.getElementById("distribution-figure");

const distribution = () => show(place, `/api/compare?runs=${picker.dataset.runs}&figure=${picker.value}`);

picker.addEventListener("change", distribution);
distribution();
figurePickers();
