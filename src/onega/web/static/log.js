// One log: its figures, runs under policies, models and samples.
import { followAll, onSubmit, refresh, say, send } from "./common.js";
import { figurePickers, show } from "./figures.js";

followAll();
figurePickers();

const runs = document.getElementById("runs");
const number = (data, name) => (data.get(name) === "" || data.get(name) === null ? null : Number(data.get(name)));

// The machine's settings: fields are called by their places in its description, "rate_control.rates.0". A table
// with nothing changed in it isn't sent: a description in TOML may have it.
function settings(form) {
  const tables = {};
  const changed = new Set();
  for (const field of form.querySelectorAll("[name*='.']")) {
    if (field.closest("label").hidden || field.value === "") continue;
    const [table, key, place] = field.name.split(".");
    const into = tables[table] ??= {};
    const value = field.type === "number" ? Number(field.value) : field.value;
    if (place === undefined) into[key] = value;
    else (into[key] ??= [])[place] = value;
    if (field.selectedIndex > 0 || (field.defaultValue ?? field.value) !== field.value) changed.add(table);
  }
  return Object.fromEntries(Object.entries(tables).filter(([table]) => changed.has(table)));
}

if (runs) {
  const kind = runs.elements["rate_control.kind"];
  const fitting = () => {
    for (const label of runs.querySelectorAll("[data-for]")) label.hidden = !label.dataset.for.split(" ").includes(kind.value);
    for (const field of runs.querySelectorAll("[data-examples]")) {
      const examples = JSON.parse(field.dataset.examples);
      const untouched = Object.values(examples).includes(Number(field.value || NaN));
      if (untouched && kind.value in examples) field.value = examples[kind.value];
    }
  };
  kind.addEventListener("change", fitting);
  fitting();
  const window = runs.elements.window;
  const asked = () => { for (const label of runs.querySelectorAll("[data-window]")) label.hidden = window.value !== "given"; };
  window.addEventListener("change", asked);
  asked();

  onSubmit(runs, async (data) => {
    const policies = data.getAll("policy");
    const other = data.get("other").trim().toLowerCase();
    if (other) policies.push(other);
    if (!policies.length) throw new Error("Choose at least one policy.");
    const cluster = data.get("cluster").trim();
    const common = {
      log: runs.dataset.log,
      cluster: cluster || null,
      procs: cluster ? null : number(data, "procs"),
      knowledge: data.get("knowledge") || null,
      ties: data.get("ties"),
      enforce_limits: data.get("enforce_limits") !== null,
      ...settings(runs),
      window: data.get("window") === "given" ? `${data.get("window_from").trim()}..${data.get("window_to").trim()}` : data.get("window"),
    };
    for (const policy of policies) await send("/api/runs", { ...common, policy });
    say(policies.length === 1 ? "1 run started" : `${policies.length} runs started`);
    const list = document.getElementById("run-list");
    await refresh(list);
    list.scrollIntoView({ block: "nearest" });
  });

  const plan = document.getElementById("plan");
  const varied = () => { plan.elements.policy.closest("label").hidden = plan.elements.vary.value === "policy"; };
  plan.elements.vary.addEventListener("change", varied);
  varied();
  onSubmit(plan, async (data) => {
    const asked = { log: runs.dataset.log, target: data.get("target"), vary: data.get("vary"), policy: data.get("policy") };
    await send("/api/plans", asked);
    await refresh(document.getElementById("plan-list"));
  });

  // Figures inside lists that come anew: drawn when they are opened ("toggle" doesn't bubble).
  document.addEventListener("toggle", (event) => {
    const part = event.target;
    if (part.open && part.dataset?.figure) show(part.querySelector(".figure"), part.dataset.figure);
  }, true);

  onSubmit(document.getElementById("fit"), async (data) => {
    await send("/api/models", { log: runs.dataset.log, model: data.get("model") });
    await refresh(document.getElementById("model-list"));
  });

  // Forms for sampling come and go with the list of models.
  onSubmit(document.getElementById("model-list"), async (data, form) => {
    const load = number(data, "load");
    const item = await send(form.dataset.sample, { jobs: number(data, "jobs"), load: load === null ? null : load / 100 });
    location.assign(`/logs/${item.id}`);
  });
}
