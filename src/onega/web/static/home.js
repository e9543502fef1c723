// Upload with progress, or make a log from a model.
import { followAll, onSubmit, say, send } from "./common.js";

followAll();

const form = document.getElementById("upload");
const input = document.getElementById("file");
const drop = form.querySelector(".drop");
const bar = document.getElementById("sent");
const limit = Number(form.dataset.limit);

for (const name of ["dragover", "dragleave", "drop"]) {
  drop.addEventListener(name, (event) => {
    event.preventDefault();
    drop.classList.toggle("over", name === "dragover");
    if (name === "drop" && event.dataTransfer.files.length) input.files = event.dataTransfer.files;
  });
}

function upload(url, file) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", url);
    request.setRequestHeader("content-type", "application/octet-stream");
    request.upload.addEventListener("progress", (event) => { bar.value = event.loaded / (event.total || 1); });
    request.addEventListener("load", () => {
      let body = {};
      try { body = JSON.parse(request.responseText); } catch { /* answered below */ }
      if (request.status < 300) resolve(body);
      else reject(new Error(body.error || `refused (${request.status})`));
    });
    request.addEventListener("error", () => reject(new Error("the upload broke off; is `onega serve` still running?")));
    request.send(file);
  });
}

onSubmit(form, async (data) => {
  const file = data.get("file");
  if (file.size > limit) throw new Error(`${file.name} is too large: ${Math.ceil(file.size / 1048576)} MB, at most ${limit / 1048576} MB are accepted; compress it, or use the command`);
  const query = new URLSearchParams({ name: file.name || "log" });
  for (const name of ["procs", "timezone", "format"]) if (data.get(name)) query.set(name, data.get(name));
  bar.hidden = false;
  bar.value = 0;
  say("Uploading");
  try {
    const item = await upload(`/api/logs?${query}`, file);
    location.assign(`/logs/${item.id}`);
  } finally {
    bar.hidden = true;
  }
});

onSubmit(document.getElementById("demo"), async (data) => {
  const item = await send("/api/logs/sample", {
    jobs: Number(data.get("jobs")),
    procs: Number(data.get("procs")),
    load: Number(data.get("load")) / 100,
  });
  location.assign(`/logs/${item.id}`);
});
