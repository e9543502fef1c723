// Looking into schedules: several runs over one stretch of time, from years to an hour. What is
// drawn comes from the server at the picture's own resolution; until it is there, what was drawn
// last is shown at its new place.
import { ask, count, jobs, seconds } from "./common.js";
import { colour } from "./figures.js";

const HOUR = 3600;
const LEAST = 60;
const SERIES = 64;
const GANTT = 240;
const AXIS = 24;
const LEFT = 44;
const STEPS = [1, 5, 15, 30, 60, 300, 900, 1800, 3600, 10800, 21600, 43200, 86400, 172800, 604800, 1209600, 2592000, 7776000, 15552000, 31557600, 63115200];

// Single jobs are coloured by how long they waited, as the legend says: at most so many seconds.
const WAITS = [[60, "c2"], [HOUR, "c0"], [24 * HOUR, "c1"], [Infinity, "c3"]];

class Lane {
  constructor(place) {
    this.place = place;
    this.id = place.dataset.run;
    this.name = place.querySelector("figcaption").childNodes[1].textContent.trim();
    this.begin = Number(place.dataset.begin);
    this.end = Number(place.dataset.end);
    this.procs = Number(place.dataset.procs);
    this.box = place.querySelector(".canvas");
    this.canvas = place.querySelector("canvas");
    this.tip = place.querySelector(".tip");
    this.said = place.querySelector("[data-said]");
    this.shade = `c${place.dataset.shade}`;
    this.data = null;
    this.image = null;
    this.request = null;
  }

  get width() { return Math.max(120, this.box.clientWidth - LEFT); }

  async load(view) {
    this.request?.abort();
    this.request = new AbortController();
    const columns = Math.min(2000, Math.round(this.width));
    const query = `from=${view.from}&to=${view.to}&width=${columns}&rows=${GANTT / 2}`;
    try {
      this.data = await ask(`/api/runs/${this.id}/window?${query}`, { signal: this.request.signal });
    } catch (error) {
      if (error.name !== "AbortError") this.said.textContent = error.message;
      return false;
    }
    this.image = this.data.kind === "grid" ? this.painted() : null;
    const busy = this.data.series.busy;
    const share = 100 * busy.reduce((sum, one) => sum + one, 0) / busy.length / this.procs;
    const most = Math.max(...this.data.series.waiting);
    this.said.textContent = `in view: ${share.toFixed(1)} % busy${share > 100.05 ? " (more than there is)" : ""}, at most ${jobs(most)} waiting`;
    this.place.dataset.kind = this.data.kind;
    this.place.dataset.jobs = this.data.jobs;
    return true;
  }

  painted() {
    const { columns, rows, grid } = this.data;
    const bytes = Uint8Array.from(atob(grid), (one) => one.charCodeAt(0));
    const image = new ImageData(columns, rows);
    const dots = new Uint32Array(image.data.buffer); // alpha, blue, green, red from the top
    const [red, green, blue] = rgb(colour(this.shade));
    const ink = (blue << 16) | (green << 8) | red;
    for (let row = 0; row < rows; row += 1) {
      for (let column = 0; column < columns; column += 1) {
        dots[(rows - 1 - row) * columns + column] = ((bytes[row * columns + column] << 24) | ink) >>> 0;
      }
    }
    const held = document.createElement("canvas");
    held.width = columns;
    held.height = rows;
    held.getContext("2d").putImageData(image, 0, 0);
    return held;
  }

  draw(view, clock) {
    const scale = devicePixelRatio || 1;
    const [width, height] = [this.width + LEFT, SERIES + GANTT + AXIS];
    if (this.canvas.width !== Math.round(width * scale) || this.canvas.height !== height * scale) {
      this.canvas.width = Math.round(width * scale);
      this.canvas.height = height * scale;
      this.canvas.style.height = `${height}px`;
    }
    const pen = this.canvas.getContext("2d");
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.font = `11px ${getComputedStyle(document.body).fontFamily}`;
    const x = (time) => LEFT + (time - view.from) / (view.to - view.from) * this.width;
    this.axes(pen, view, clock, x);
    if (this.data) {
      pen.save();
      pen.beginPath();
      pen.rect(LEFT, 0, this.width, SERIES + GANTT);
      pen.clip();
      this.lines(pen, x);
      if (this.data.kind === "grid") this.cells(pen, x); else this.bars(pen, x);
      pen.restore();
    }
  }

  axes(pen, view, clock, x) {
    const bottom = SERIES + GANTT;
    pen.strokeStyle = colour("line");
    pen.fillStyle = colour("muted");
    pen.lineWidth = 1;
    pen.textBaseline = "middle";
    pen.textAlign = "center";
    let free = -Infinity;
    for (const { at, text } of clock.ticks(view.from, view.to, this.width)) {
      const place = Math.round(x(at)) + 0.5;
      pen.beginPath();
      pen.moveTo(place, 0);
      pen.lineTo(place, bottom + 4);
      pen.stroke();
      const half = pen.measureText(text).width / 2;
      if (place - half > free && place + half < LEFT + this.width) {
        pen.fillText(text, place, bottom + AXIS / 2 + 3);
        free = place + half + 8;
      }
    }
    pen.strokeRect(LEFT + 0.5, SERIES + 0.5, this.width - 1, GANTT - 1);
    pen.textAlign = "right";
    pen.fillText(count(this.data?.height ?? this.procs), LEFT - 5, SERIES + 7);
    pen.fillText("0", LEFT - 5, bottom - 6);
    pen.save();
    pen.translate(10, SERIES + GANTT / 2);
    pen.rotate(-Math.PI / 2);
    pen.textAlign = "center";
    pen.fillText("processors", 0, 0);
    pen.restore();
  }

  // Busy as an area up to the machine's size, waiting as a line up to its own peak.
  lines(pen, x) {
    const { begin, end, series } = this.data;
    const step = (end - begin) / series.busy.length;
    const foot = SERIES - 4;
    const tall = SERIES - 10;
    const trace = (values, top, filled) => {
      pen.beginPath();
      pen.moveTo(x(begin), foot);
      values.forEach((value, place) => {
        const y = foot - Math.min(1, value / top) * tall;
        pen.lineTo(x(begin + place * step), y);
        pen.lineTo(x(begin + (place + 1) * step), y);
      });
      if (filled) {
        pen.lineTo(x(end), foot);
        pen.fill();
      } else pen.stroke();
    };
    pen.fillStyle = colour(this.shade);
    pen.globalAlpha = 0.35;
    trace(series.busy, this.procs, true);
    pen.globalAlpha = 1;
    pen.strokeStyle = colour("ink");
    pen.lineWidth = 1.2;
    trace(series.waiting, Math.max(1, ...series.waiting), false);
  }

  cells(pen, x) {
    const { begin, end } = this.data;
    pen.imageSmoothingEnabled = false;
    pen.drawImage(this.image, x(begin), SERIES, x(end) - x(begin), GANTT);
  }

  bars(pen, x) {
    const { rectangles: all, height } = this.data;
    const shades = WAITS.map(([, shade]) => colour(shade));
    const edge = colour("card");
    for (let n = 0; n < all.job.length; n += 1) {
      const left = x(all.start[n]);
      const wide = Math.max(0.5, x(all.end[n]) - left);
      const tall = all.count[n] / height * GANTT;
      const top = SERIES + GANTT - (all.first[n] + all.count[n]) / height * GANTT;
      pen.fillStyle = shades[WAITS.findIndex(([limit]) => all.wait[n] <= limit)] ?? shades[0];
      pen.globalAlpha = 0.85;
      pen.fillRect(left, top, wide, tall);
      pen.globalAlpha = 1;
      if (wide > 3 && tall > 3) {
        pen.strokeStyle = edge;
        pen.lineWidth = 0.7;
        pen.strokeRect(left, top, wide, tall);
      }
    }
  }

  // What stands at a place of the picture, in words.
  at(px, py, view, clock) {
    if (!this.data || px < LEFT) return null;
    const time = view.from + (px - LEFT) / this.width * (view.to - view.from);
    if (py < SERIES || this.data.kind === "grid") {
      const { begin, end, series } = this.data;
      const place = Math.floor((time - begin) / (end - begin) * series.busy.length);
      if (!(place >= 0 && place < series.busy.length)) return null;
      return `${clock.moment(time)}: ${count(series.busy[place])} of ${count(this.procs)} busy, ${count(series.waiting[place])} waiting`;
    }
    const level = (SERIES + GANTT - py) / GANTT * this.data.height;
    const all = this.data.rectangles;
    for (let n = all.job.length - 1; n >= 0; n -= 1) {
      if (all.start[n] <= time && time < all.end[n] && all.first[n] <= level && level < all.first[n] + all.count[n]) {
        return `job ${all.job[n]}: ${count(all.procs[n])} ${all.procs[n] === 1 ? "processor" : "processors"}, waited ${seconds(all.wait[n])}, ran ${seconds(all.end[n] - all.start[n])} from ${clock.moment(all.start[n])}`;
      }
    }
    return null;
  }
}

// Dates in the machine's own zone if the log has an epoch, else time since the first submission.
class Clock {
  constructor(epoch, origin, zone) {
    this.epoch = epoch;
    this.origin = origin;
    const parts = { hourCycle: "h23", year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit" };
    this.zone = zone;
    try {
      this.parts = new Intl.DateTimeFormat("en-GB", { timeZone: zone, ...parts });
    } catch { // a zone that this browser doesn't know
      this.zone = "UTC";
      this.parts = new Intl.DateTimeFormat("en-GB", { timeZone: "UTC", ...parts });
    }
  }

  // Seconds by which the zone is ahead of UTC at a Unix time.
  ahead(unix) {
    const found = Object.fromEntries(this.parts.formatToParts(new Date(1000 * unix)).map((one) => [one.type, Number(one.value)]));
    const local = Date.UTC(found.year, found.month - 1, found.day, found.hour, found.minute, found.second) / 1000;
    return Math.round((local - Math.floor(unix)) / 60) * 60;
  }

  // A date of the machine's clock as text that sorts, and back.
  text(time) {
    const unix = time + this.epoch;
    return new Date(1000 * (unix + this.ahead(unix))).toISOString();
  }

  time(text) {
    const local = Date.parse(`${text}Z`) / 1000;
    return local - this.ahead(local - this.ahead(local)) - this.epoch;
  }

  moment(time) {
    if (this.epoch === null) return `${seconds(Math.max(0, time - this.origin))} in`;
    return this.text(time).slice(0, 16).replace("T", " ");
  }

  ticks(from, to, width) {
    const wanted = (to - from) / Math.max(2, width / 110);
    const step = STEPS.find((one) => one >= wanted) ?? STEPS.at(-1);
    const shift = this.epoch === null ? -this.origin : this.epoch + this.ahead(from + this.epoch);
    const found = [];
    for (let at = Math.ceil((from + shift) / step) * step; at <= to + shift; at += step) {
      // Summer time moves the rest of the marks by an hour.
      const place = this.epoch === null ? at - shift : this.time(new Date(1000 * at).toISOString().slice(0, 19));
      found.push({ at: place, text: this.label(at, step) });
    }
    return found;
  }

  label(at, step) {
    if (this.epoch === null) return step >= 86400 ? `day ${Math.round(at / 86400)}` : `${Math.floor(at / 86400)} d ${new Date(1000 * (at % 86400)).toISOString().slice(11, 16)}`;
    const date = new Date(1000 * at);
    const time = date.toISOString().slice(11, step < 60 ? 19 : 16);
    if (step < 86400 && time !== "00:00") return time;
    return new Intl.DateTimeFormat("en-GB", { timeZone: "UTC", day: "numeric", month: "short", year: step >= 2592000 ? "numeric" : undefined }).format(date);
  }
}

export class Viewer {
  constructor(place) {
    this.place = place;
    this.lanes = [...place.querySelectorAll("[data-run]")].map((one) => new Lane(one));
    this.begin = Math.min(...this.lanes.map((one) => one.begin));
    this.end = Math.max(...this.lanes.map((one) => one.end));
    if (!(this.end > this.begin)) this.end = this.begin + HOUR;
    const epoch = this.lanes[0].place.dataset.epoch;
    this.clock = new Clock(epoch === "" ? null : Number(epoch), this.begin, this.lanes[0].place.dataset.zone || "UTC");
    this.goto = place.querySelector("[data-goto]");
    if (this.goto) [this.goto.min, this.goto.max] = [this.begin, this.end].map((one) => this.clock.text(one).slice(0, 16));
    this.view = { from: this.begin, to: this.end };
    this.where = place.querySelector("[data-where]");
    this.legend = place.querySelector(".legend");
    this.timer = null;
    this.frame = null;
    this.listen();
    this.change(this.begin, this.end);
  }

  listen() {
    this.place.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (!button) return;
      const { zoom, pan, span } = button.dataset;
      if (zoom) this.zoom(Number(zoom));
      else if (pan) this.pan(Number(pan));
      else if (span) this.span(span === "all" ? this.end - this.begin : Number(span));
    });
    this.goto?.addEventListener("change", () => this.jump());
    for (const lane of this.lanes) this.listenTo(lane);
    addEventListener("resize", () => this.change(this.view.from, this.view.to));
    addEventListener("themechange", () => {
      for (const lane of this.lanes) if (lane.data?.kind === "grid") lane.image = lane.painted();
      this.redraw();
    });
    this.place.querySelector("[data-table]").addEventListener("toggle", () => this.table());
  }

  listenTo(lane) {
    const { box } = lane;
    box.addEventListener("keydown", (event) => {
      const acts = { ArrowLeft: () => this.pan(-0.2), ArrowRight: () => this.pan(0.2), "+": () => this.zoom(0.5), "=": () => this.zoom(0.5), "-": () => this.zoom(2), Home: () => this.span(this.end - this.begin) };
      const act = event.ctrlKey || event.metaKey || event.altKey ? null : acts[event.key];
      if (!act) return;
      event.preventDefault();
      act();
    });
    const share = (event) => Math.min(1, Math.max(0, (event.clientX - box.getBoundingClientRect().left - LEFT) / lane.width));
    box.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey && document.activeElement !== box) return;
      event.preventDefault();
      this.zoom(event.deltaY > 0 ? 1.25 : 0.8, share(event));
    }, { passive: false });
    box.addEventListener("dblclick", (event) => this.zoom(0.25, share(event)));
    let held = null;
    box.addEventListener("pointerdown", (event) => {
      held = { x: event.clientX, ...this.view };
      box.setPointerCapture(event.pointerId);
    });
    box.addEventListener("pointerup", () => { held = null; });
    box.addEventListener("pointercancel", () => { held = null; });
    box.addEventListener("pointerleave", () => { lane.tip.hidden = true; });
    box.addEventListener("pointermove", (event) => {
      if (held) {
        const moved = (held.x - event.clientX) / lane.width * (held.to - held.from);
        lane.tip.hidden = true;
        if (Math.abs(held.x - event.clientX) > 2) this.change(held.from + moved, held.to + moved);
        return;
      }
      const area = box.getBoundingClientRect();
      const [px, py] = [event.clientX - area.left, event.clientY - area.top];
      const text = lane.at(px, py, this.view, this.clock);
      lane.tip.hidden = text === null;
      if (text !== null) {
        lane.tip.textContent = text;
        lane.tip.style.left = `${Math.max(0, Math.min(px + 12, area.width - lane.tip.offsetWidth))}px`;
        lane.tip.style.top = `${py + 16}px`;
      }
    });
  }

  zoom(by, share = 0.5) {
    const { from, to } = this.view;
    const length = Math.max(LEAST, (to - from) * by);
    const fixed = from + share * (to - from);
    this.change(fixed - share * length, fixed + (1 - share) * length);
  }

  pan(by) {
    const length = this.view.to - this.view.from;
    this.change(this.view.from + by * length, this.view.to + by * length);
  }

  // Show the day that begins at a date; of a stretch shorter than a day, as much as is in view.
  jump() {
    if (!this.goto.value) return;
    const from = this.clock.time(`${this.goto.value}:00`);
    if (Number.isFinite(from)) this.change(from, from + Math.min(24 * HOUR, this.view.to - this.view.from));
  }

  span(length) {
    const middle = length >= this.end - this.begin ? (this.begin + this.end) / 2 : (this.view.from + this.view.to) / 2;
    this.change(middle - length / 2, middle + length / 2);
  }

  // Move to a stretch of time, kept within the schedules.
  change(from, to) {
    const length = Math.min(to - from, this.end - this.begin);
    const start = Math.min(Math.max(from, this.begin), this.end - length);
    this.view = { from: start, to: start + length };
    this.place.dataset.state = "moving";
    this.redraw();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.load(), 60);
  }

  redraw() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      for (const lane of this.lanes) lane.draw(this.view, this.clock);
    });
  }

  async load() {
    const { view } = this;
    const came = await Promise.all(this.lanes.map((lane) => lane.load(view)));
    if (view !== this.view || !came.every(Boolean)) return;
    this.redraw();
    const one = this.lanes[0].data.kind === "jobs" ? "" : "; zoom in to see single jobs";
    this.where.textContent = `${this.clock.moment(view.from)} to ${this.clock.moment(view.to)} (${seconds(view.to - view.from)})${this.clock.epoch === null ? "" : ` ${this.clock.zone}`}: ${jobs(this.lanes[0].data.jobs)} in view${one}.`;
    // Where jobs are many the shade is the run's own, and the legend of single jobs doesn't hold.
    this.legend.hidden = this.lanes.every((one) => one.data.kind !== "jobs");
    this.place.dataset.state = "ready";
    this.place.dataset.length = view.to - view.from;
    this.table();
  }

  table() {
    const part = this.place.querySelector("[data-table]");
    if (!part.open) return;
    const rows = [];
    for (const lane of this.lanes) {
      const all = lane.data?.rectangles;
      for (let n = 0; all && n < Math.min(100, all.job.length); n += 1) {
        const row = document.createElement("tr");
        const cells = [all.job[n], lane.name, this.clock.moment(all.start[n]), seconds(all.end[n] - all.start[n]), seconds(all.wait[n]), count(all.procs[n])];
        cells.forEach((text, place) => {
          const cell = document.createElement("td");
          cell.textContent = text;
          if (place !== 1 && place !== 2) cell.className = "n";
          row.append(cell);
        });
        rows.push(row);
      }
    }
    part.querySelector("tbody").replaceChildren(...rows);
    part.querySelector("[data-more]").textContent = rows.length ? "At most the first 100 of each run; zoom in for others." : "Too many jobs for a table here; zoom in.";
  }
}

function rgb(text) {
  const hex = text.replace("#", "");
  return [0, 2, 4].map((place) => parseInt(hex.slice(place, place + 2), 16));
}
