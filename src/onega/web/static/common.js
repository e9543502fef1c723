// What all pages share: requests with readable errors, words for numbers, lists that follow the work.

export async function ask(url, options = {}) {
  let answer;
  try {
    answer = await fetch(url, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("the page doesn't answer; is `onega serve` still running?");
  }
  if (answer.status === 204) return null;
  const kind = answer.headers.get("content-type") || "";
  const body = kind.includes("json") ? await answer.json() : await answer.text();
  if (!answer.ok) throw new Error(forThePage(body.error) || `refused (${answer.status})`);
  return body;
}

// Messages name flags of the command; here there are fields instead.
export function forThePage(text) {
  return text?.replace(/\s*\([^()]*--[a-z][^()]*\)/g, "").replace(/; (say|give) [^;]*--[a-z][^;]*$/, "");
}

export function send(url, body) {
  const headers = { "content-type": "application/json" };
  return ask(url, { method: "POST", headers, body: JSON.stringify(body) });
}

export function say(text) {
  const place = document.getElementById("news");
  if (place.textContent !== text) place.textContent = text;
}

export function seconds(value) {
  const size = Math.abs(value);
  const three = (number) => String(Number(number.toPrecision(3)));
  if (size < 120) return `${three(value)} s`;
  if (size < 7200) return `${three(value / 60)} min`;
  if (size < 172800) return `${three(value / 3600)} h`;
  if (size < 63115200) return `${three(value / 86400)} d`;
  return `${three(value / 31557600)} years`;
}

export const jobs = (value) => `${count(value)} ${Math.round(value) === 1 ? "job" : "jobs"}`;
export const count = (value) => Math.round(value).toLocaleString("en");

// Runs the action of a form, or of any form inside of a place; shows what went wrong where the form has its place for it.
export function onSubmit(place, action) {
  place.addEventListener("submit", async (event) => {
    event.preventDefault();
    const form = event.target;
    const message = form.querySelector(".message");
    const button = form.querySelector("button[type=submit]");
    message.textContent = "";
    button.disabled = true;
    try {
      await action(new FormData(form), form);
    } catch (error) {
      message.textContent = error.message;
    } finally {
      button.disabled = false;
    }
  });
}

// Lists and progress: while something in a [data-poll] is busy, its fragment is asked for again.
const POLL = 400;

export async function refresh(place) {
  const held = document.activeElement && place.contains(document.activeElement)
    ? document.activeElement.id : null;
  const known = new Map([...place.querySelectorAll("input[type=checkbox]:enabled")].map((box) => [box.id, box.checked]));
  const fields = new Map([...place.querySelectorAll("input[type=number][id]")].map((one) => [one.id, one.value]));
  const open = [...place.querySelectorAll("details")].map((one) => one.open);
  place.innerHTML = await ask(place.dataset.poll);
  for (const box of place.querySelectorAll("input[type=checkbox]")) if (known.has(box.id)) box.checked = known.get(box.id);
  for (const one of place.querySelectorAll("input[type=number][id]")) if (fields.has(one.id)) one.value = fields.get(one.id);
  if (open.length === place.querySelectorAll("details").length) place.querySelectorAll("details").forEach((one, n) => { one.open = open[n]; });
  if (held) document.getElementById(held)?.focus();
  follow(place);
}

const waiting = new WeakMap();

export function follow(place) {
  clearTimeout(waiting.get(place));
  const busy = [...place.querySelectorAll("[data-busy]")];
  if (place.dataset.was === "busy" && busy.length === 0) say("Done.");
  place.dataset.was = busy.length ? "busy" : "idle";
  if (place.querySelector("[data-done]") && "reload" in place.dataset) {
    location.reload();
    return;
  }
  if (!busy.length) return;
  const tenth = Math.round(10 * Number(busy[0].dataset.progress)) * 10;
  say(`${busy[0].dataset.name}: ${busy[0].dataset.stage}, ${tenth} percent`);
  waiting.set(place, setTimeout(() => refresh(place).catch(() => follow(place)), POLL));
}

export function followAll() {
  document.querySelectorAll("[data-poll]").forEach(follow);
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-delete]");
    if (!button || !confirm(`Delete ${button.dataset.name}?`)) return;
    const place = button.closest("[data-poll]");
    try {
      await ask(button.dataset.delete, { method: "DELETE" });
    } catch (error) {
      alert(error.message);
    }
    if (place) refresh(place);
  });
}
