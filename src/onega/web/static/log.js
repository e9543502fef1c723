// One log: its figures, runs under policies, models and samples.
import { followAll, onSubmit, refresh, say, send } from "./common.js";
import { figurePickers, show } from "./figures.js";

followAll();
figurePickers();

const runs = document.getElementById("runs");
const number = (data, name) => (data.get(name) === "" || data.get(name) === null ? null : Number(data.get(name)));

function rateControl(data) {
  const kind = data.get("kind");
  const low = number(data, "rate_low") ?? 1;
  if (kind === "none") return low === 1 ? null : { kind, rates: [low] };
  const control = { kind, rates: [low, number(data, "rate_high")] };
  if (kind === "random") return { ...control, p_low: number(data, "p_low"), p_high: number(data, "p_high") };
  return { ...control, k_low: [number(data, "k_low")], k_high: [number(data, "k_high")] };
}

function power(data, rated) {
  const pair = (name) => {
    const low = number(data, `${name}_low`);
    const high = rated ? number(data, `${name}_high`) : null;
    return low === null ? null : high === null ? [low] : [low, high];
  };
  const busy = pair("busy");
  return busy === null ? null : { busy, idle: pair("idle") ?? [0] };
}

if (runs) {
  const kind = runs.elements.kind;
  const fitting = () => {
    for (const label of runs.querySelectorAll("[data-for]")) label.hidden = !label.dataset.for.split(" ").includes(kind.value);
    const work = kind.value === "workload";
    if (work && runs.elements.k_high.value === "50") [runs.elements.k_low.value, runs.elements.k_high.value] = [100000, 300000];
    if (!work && runs.elements.k_high.value === "300000") [runs.elements.k_low.value, runs.elements.k_high.value] = [10, 50];
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
    const control = rateControl(data);
    const cluster = data.get("cluster").trim();
    const common = {
      log: runs.dataset.log,
      cluster: cluster || null,
      procs: cluster ? null : number(data, "procs"),
      knowledge: data.get("knowledge") || null,
      ties: data.get("ties"),
      enforce_limits: data.get("enforce_limits") !== null,
      rate_control: control,
      power: power(data, control !== null && control.kind !== "none"),
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
  document.getElementById("model-list").addEventListener("submit", async (event) => {
    event.preventDefault();
    const form = event.target;
    const data = new FormData(form);
    const load = number(data, "load");
    try {
      const item = await send(form.dataset.sample, { jobs: number(data, "jobs"), load: load === null ? null : load / 100 });
      location.assign(`/logs/${item.id}`);
    } catch (error) {
      form.querySelector(".message").textContent = error.message;
    }
  });
}
