// Draws what `Explorer` (explorer.py) computed: its `pack` describes the data. Nothing is computed here.
const NS = "http://www.w3.org/2000/svg";
const ROW = 24; // height of a token in the picture of lines

function element(name, attributes = {}, ...children) {
  const made = name.startsWith("svg:") ? document.createElementNS(NS, name.slice(4)) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function decoded(base64) {
  return Uint8Array.from(atob(base64), (c) => c.charCodeAt(0)).buffer;
}

let explorers = 0;

class Explorer {
  constructor(model, el) {
    const number = model.order ?? ++explorers; // on this page: each keeps its own part of the address
    const name = model.get("name") || (number > 1 ? String(number) : "");
    this.prefix = name && `${name}.`;
    this.id = `mha-explorer-${number}`;
    this.model = model;
    this.el = el;
    this.place = [...model.get("place")]; // of each control's value
    this.look = { head: 0, other: -1, token: -1, column: false }; // -1: none
    this.hover = -1;
    this.drawn = {}; // what each part shows now, so that it is made again only where it must be
    el.classList.add("mha-explorer");
    // JupyterLab would take the arrow keys.
    el.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key === "Escape") this.set({ token: -1 });
    });
    this.read();
    this.build();
    this.onSite = model.static === true; // a page without a kernel: its address can hold the state
    if (this.onSite && this.fromAddress()) el.scrollIntoView({ block: "nearest" });
    this.update();
    this.listen();
  }

  read() {
    this.data = this.model.get("data");
    this.cache = new Map();
  }

  get state() {
    const { controls, states } = this.data;
    return states[controls.reduce((at, control, i) => at * control.labels.length + this.place[i], 0)];
  }

  pool(name) {
    return this.data.pool[this.state[name]];
  }

  // Weights (heads, q_len, kv_len) and most looked at of the state, as typed arrays.
  get numbers() {
    const { state } = this;
    if (!this.cache.has(state)) {
      const weights = new Uint16Array(decoded(state.weights));
      this.cache.set(state, { weights, most: new Uint8Array(decoded(state.most)) });
    }
    return this.cache.get(state);
  }

  weight(head, query, key) {
    const [, q, k] = this.state.shape;
    return this.numbers.weights[(head * q + query) * k + key] / this.data.full;
  }

  set(look, place = this.place) {
    Object.assign(this.look, look);
    this.place = place;
    this.update();
    this.toAddress();
  }

  choose(control, value) {
    const place = [...this.place];
    place[control] = value;
    this.set({}, place);
  }

  // ---- the parts, made once ----

  build() {
    const parts = this.model.get("parts");
    this.error = element("div", { class: "mha-e-error", role: "alert" });
    this.body = element("div", { class: "mha-e-body" });
    this.blocks = element("div", { class: "mha-e-blocks" });
    this.heads = element("fieldset", { class: "mha-e-heads" });
    this.looks = element("div", { class: "mha-e-looks" });
    this.tokens = element("fieldset", { class: "mha-e-tokens" });
    this.panels = element("div", { class: "mha-e-panels" });
    this.status = element("p", { class: "mha-e-status", role: "status" });
    this.counts = element("dl", { class: "mha-e-counts" });
    this.controls = element("div", { class: "mha-e-controls" }, ...this.data.controls.map((c, i) => this.control(c, i)));
    this.el.append(this.controls, this.error, this.body);
    if (parts.includes("blocks")) this.body.append(this.blocks);
    if (parts.includes("heads")) this.body.append(this.heads);
    if (parts.includes("map")) this.body.append(this.tokens, this.looks);
    this.body.append(this.status);
    if (parts.includes("map")) this.body.append(this.panels);
    if (parts.includes("counts")) this.body.append(this.counts);
    this.buildLooks();
  }

  control({ name, labels, kind }, i) {
    const id = `${this.id}-${name}`;
    const label = element("label", { for: id }, name);
    if (kind === "check") {
      const box = element("input", { id, type: "checkbox" });
      box.addEventListener("change", () => this.choose(i, Number(box.checked)));
      return element("div", { class: "mha-e-control" }, box, label);
    }
    if (kind === "choice") {
      const list = element("select", { id }, ...labels.map((text) => element("option", {}, text)));
      list.addEventListener("change", () => this.choose(i, list.selectedIndex));
      return element("div", { class: "mha-e-control mha-e-wide" }, label, list);
    }
    const slider = element("input", { id, type: "range", min: 0, max: labels.length - 1, step: 1 });
    slider.addEventListener("input", () => this.choose(i, Number(slider.value)));
    return element("div", { class: "mha-e-control" }, label, slider, element("output", { for: id }));
  }

  radios(box, legend, names, checked, choose) {
    const group = `${this.id}-${legend}`;
    const rows = names.map((name, i) => {
      const input = element("input", { type: "radio", name: group });
      input.checked = i === checked;
      input.addEventListener("change", () => choose(i));
      return element("label", {}, input, name);
    });
    box.replaceChildren(element("legend", {}, legend), ...rows);
    return rows;
  }

  buildLooks() {
    const reading = element("fieldset", { class: "mha-e-reading" });
    this.reading = this.radios(reading, "read", ["query → key", "key → query"], 0, (i) => this.set({ column: i === 1 }));
    const id = `${this.id}-other`;
    this.other = element("select", { id });
    this.other.addEventListener("change", () => this.set({ other: this.other.selectedIndex - 1 }));
    this.looks.append(reading, element("div", { class: "mha-e-control" }, element("label", { for: id }, "compare with"), this.other));
  }

  // ---- what a change redraws ----

  update() {
    const { state, look } = this;
    const several = this.data.pool[state.heads].length;
    look.head = Math.max(0, Math.min(look.head, several - 1));
    if (look.other >= several) look.other = -1;
    this.updateControls();
    this.error.replaceChildren(...(state.error ? this.errorParts(state) : []));
    this.updateBlocks();
    this.updateCounts();
    for (const part of [this.heads, this.tokens, this.looks, this.panels]) part.hidden = Boolean(state.error);
    if (!state.error) {
      if (look.token >= this.pool(look.column ? "keys" : "queries").length) look.token = -1;
      this.updateHeads();
      this.updateTokens();
      this.updatePanels();
    }
    this.say(this.sentence());
    this.keepHeight();
  }

  // What stands below does not jump up where the state is impossible.
  keepHeight() {
    if (!this.state.error) this.height = this.body.offsetHeight;
    this.body.style.minHeight = this.state.error && this.height ? `${this.height}px` : "";
  }

  updateControls() {
    this.data.controls.forEach(({ labels, kind }, i) => {
      const input = this.controls.children[i].querySelector("input, select");
      if (kind === "check") input.checked = this.place[i] === 1;
      else if (kind === "choice") input.selectedIndex = this.place[i];
      else {
        input.value = this.place[i];
        input.setAttribute("aria-valuetext", labels[this.place[i]]);
        input.nextElementSibling.textContent = labels[this.place[i]];
      }
    });
  }

  errorParts(state) {
    const offers = state.near.map(([control, value]) => {
      const { name, labels } = this.data.controls[control];
      const button = element("button", { type: "button" }, `${name} = ${labels[value]}`);
      button.addEventListener("click", () => {
        this.choose(control, value);
        this.controls.children[control].querySelector("input, select").focus();
      });
      return button;
    });
    const nearest = offers.length ? [element("span", {}, "The nearest that do: "), ...offers] : [];
    return [element("p", {}, element("strong", {}, "ValueError: "), state.error), element("p", {}, ...nearest)];
  }

  // True if the part shows another thing than `what` and has to be made again.
  stale(part, ...what) {
    const key = what.join();
    if (this.drawn[part] === key) return false;
    this.drawn[part] = key;
    return true;
  }

  updateBlocks() {
    if (!this.body.contains(this.blocks) || !this.stale("blocks", this.state.blocks)) return;
    const made = this.pool("blocks").map(([name, rows, columns, bands, across, sign]) => {
      const unit = 2.1, long = across ? columns : rows;
      const picture = element("svg:svg", { width: columns * unit + 2, height: rows * unit + 2, "aria-hidden": "true" });
      picture.append(element("svg:rect", { x: 1, y: 1, width: columns * unit, height: rows * unit, class: "mha-e-whole" }));
      let start = 0;
      bands.forEach((band, i) => {
        const at = 1 + start * unit, size = band * unit;
        const box = across ? { x: at, y: 1, width: size, height: rows * unit } : { x: 1, y: at, width: columns * unit, height: size };
        picture.append(element("svg:rect", { ...box, fill: this.colour(i), class: "mha-e-band" }));
        start += band;
      });
      const over = bands.length && long > start ? `, ${long - start} left over` : "";
      const cut = bands.length ? ` = ${bands.length} × ${bands[0]}${over}` : "";
      const size = element("span", { class: "mha-e-size" }, `${rows} × ${columns}`, element("br"), bands.length ? `${across ? "columns" : "rows"}${cut}` : "");
      return element("div", { class: "mha-e-block" }, element("b", {}, sign ? `${sign} ${name}` : name), picture, size);
    });
    this.blocks.replaceChildren(...made);
  }

  colour(head) {
    return this.data.colours[head % this.data.colours.length];
  }

  updateHeads() {
    const names = this.pool("heads"), [several, q, k] = this.state.shape, { look } = this;
    if (this.stale("heads", this.state.heads)) {
      const labels = this.radios(this.heads, "head", names, look.head, (i) => this.set({ head: i }));
      this.maps = labels.map((label, i) => {
        const map = element("canvas", { "aria-hidden": "true", style: `border-color:${this.colour(i)}` });
        label.prepend(map);
        return map;
      });
      this.other.replaceChildren(...["no other head", ...names].map((name) => element("option", {}, name)));
    }
    this.heads.querySelectorAll("input").forEach((input, i) => { input.checked = i === look.head; });
    this.other.selectedIndex = look.other + 1;
    for (let head = 0; head < several; head++) this.drawMap(this.maps[head], head, q, k);
  }

  // A head's weights as pixels, its colour as dense as the weight.
  drawMap(canvas, head, q, k) {
    if (canvas.width !== k || canvas.height !== q) Object.assign(canvas, { width: k, height: q });
    const image = new ImageData(k, q);
    const rgb = [1, 3, 5].map((at) => Number.parseInt(this.colour(head).slice(at, at + 2), 16));
    for (let i = 0; i < q; i++) {
      for (let j = 0; j < k; j++) {
        const alpha = 255 * this.weight(head, i, j) * (this.faded(i, j) ? 0.2 : 1);
        image.data.set([...rgb, alpha], 4 * (i * k + j));
      }
    }
    canvas.getContext("2d").putImageData(image, 0, 0);
  }

  get token() {
    return this.hover >= 0 ? this.hover : this.look.token;
  }

  faded(query, key) {
    return this.token >= 0 && (this.look.column ? key : query) !== this.token;
  }

  updateTokens() {
    const side = this.look.column ? "keys" : "queries";
    if (this.stale("tokens", side, this.state[side])) {
      const labels = this.radios(this.tokens, "token", this.pool(side), this.look.token, (i) => this.set({ token: i }));
      labels.forEach((label, i) => {
        this.hovers(label, () => i);
      });
    }
    this.tokens.querySelectorAll("input").forEach((input, i) => { input.checked = i === this.look.token; });
    this.reading.forEach((label, i) => { label.querySelector("input").checked = (i === 1) === this.look.column; });
  }

  hovers(target, index) {
    target.addEventListener("pointerenter", (event) => {
      if (event.pointerType !== "touch") this.setHover(index());
    });
    target.addEventListener("pointerleave", () => this.setHover(-1));
  }

  setHover(index) {
    if (index === this.hover) return;
    this.hover = index;
    if (!this.state.error) {
      this.updateHeads();
      this.updatePanels();
    }
  }

  updatePanels() {
    if (!this.body.contains(this.panels)) return;
    const shown = [this.look.head, this.look.other].filter((head) => head >= 0);
    if (this.stale("panels", shown.length, this.state.queries, this.state.keys)) {
      this.tables = shown.map(() => this.panel());
      this.panels.replaceChildren(...this.tables.map((table) => table.root));
    }
    this.tables.forEach((table, i) => { this.updatePanel(table, shown[i]); });
  }

  // Lines from queries to keys, and the same numbers as a table.
  panel() {
    const queries = this.pool("queries"), keys = this.pool("keys");
    const height = ROW * (Math.max(queries.length, keys.length) + 1) + 6;
    const lines = element("svg:svg", { viewBox: `0 0 300 ${height}`, class: "mha-e-lines", "aria-hidden": "true" });
    const text = (x, i, words, anchor) => element("svg:text", { x, y: ROW * (i + 1) + 16, "text-anchor": anchor }, words);
    lines.append(text(112, -0.9, "query ↓", "end"), text(188, -0.9, "key ↓", "start"));
    const strokes = queries.map((_, i) => keys.map((_, j) =>
      element("svg:line", { x1: 118, y1: ROW * (i + 1) + 11, x2: 182, y2: ROW * (j + 1) + 11 })));
    lines.append(...strokes.flat());
    const starts = queries.map((word, i) => text(112, i, word, "end")), ends = keys.map((word, j) => text(188, j, word, "start"));
    lines.append(...starts, ...ends);
    const cells = queries.map(() => keys.map(() => element("td")));
    const heading = element("tr", {}, element("th", { scope: "col" }, "query ↓ key →"), ...keys.map((word) => element("th", { scope: "col" }, element("span", {}, word))));
    const rows = queries.map((word, i) => element("tr", {}, element("th", { scope: "row" }, word), ...cells[i]));
    const caption = element("caption");
    const table = element("table", {}, caption, element("thead", {}, heading), element("tbody", {}, ...rows));
    rows.forEach((row, i) => {
      cells[i].forEach((cell, j) => { this.hovers(cell, () => (this.look.column ? j : i)); });
      row.addEventListener("click", (event) => {
        const j = cells[i].indexOf(event.target);
        if (j >= 0) this.set({ token: this.look.column ? j : i });
      });
    });
    const frame = element("div", { class: "mha-e-frame", tabindex: 0, role: "region", "aria-label": "weights as a table" }, table);
    return { root: element("div", { class: "mha-e-panel" }, lines, frame), caption, strokes, starts, ends, cells, table };
  }

  updatePanel({ root, caption, strokes, starts, ends, cells }, head) {
    const colour = this.colour(head), { column } = this.look, { token } = this;
    const queries = this.pool("queries"), keys = this.pool("keys");
    root.style.setProperty("--head", colour);
    caption.textContent = `${this.pool("heads")[head]}: each row is a query, each column a key`;
    cells.forEach((row, i) => row.forEach((cell, j) => {
      const weight = this.weight(head, i, j), faded = this.faded(i, j);
      const text = weight.toFixed(2);
      if (cell.textContent !== text) cell.textContent = text;
      cell.style.backgroundColor = `color-mix(in srgb, ${colour} ${Math.round(70 * weight)}%, transparent)`;
      cell.className = faded ? "mha-e-faded" : "";
      const stroke = strokes[i][j], drawn = weight >= 0.01 && !faded;
      stroke.setAttribute("stroke-width", drawn ? 0.5 + 6 * weight : 0);
      stroke.setAttribute("stroke-opacity", 0.15 + 0.85 * weight);
    }));
    const number = (i, j) => ` ${this.weight(head, i, j).toFixed(2)}`;
    starts.forEach((text, i) => { text.textContent = queries[i] + (column && token >= 0 ? number(i, token) : ""); });
    ends.forEach((text, j) => { text.textContent = keys[j] + (!column && token >= 0 ? number(token, j) : ""); });
    [[starts, !column], [ends, column]].forEach(([side, own]) => side.forEach((text, i) => {
      text.classList.toggle("mha-e-faded", own && token >= 0 && i !== token);
      text.classList.toggle("mha-e-chosen", own && i === token);
    }));
  }

  updateCounts() {
    if (!this.stale("counts", this.state.counts)) return;
    const rows = this.pool("counts").map(([what, number, how]) =>
      element("div", { class: `mha-e-${how}` }, element("dt", {}, what), element("dd", {}, number,
        element("small", {}, how === "same" ? "the same for every h" : "grows with h"))));
    this.counts.replaceChildren(...rows);
  }

  // ---- in words ----

  sentence() {
    const { state, look } = this;
    if (state.error) return "";
    const heads = this.pool("heads"), said = [look.head, look.other].filter((head) => head >= 0).map((head) => {
      const [row, column] = this.pool("say");
      const [, q, k] = state.shape, at = look.token < 0 ? 0 : look.token;
      const most = this.numbers.most[head * (q + k) + (look.column ? q : 0) + at];
      const [i, j] = look.column ? [most, at] : [at, most];
      const fill = { head: heads[head], query: this.pool("queries")[i], key: this.pool("keys")[j], weight: this.weight(head, i, j).toFixed(2) };
      return (look.column ? column : row).replace(/\{(\w+)\}/g, (_, name) => fill[name]);
    });
    return said.join(" ");
  }

  say(words) {
    if (this.status.textContent !== words) this.status.textContent = words;
  }

  // ---- the address ----

  toAddress() {
    if (!this.onSite) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.writeAddress(), 150); // browsers refuse many changes at once
  }

  writeAddress() {
    const address = new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : "");
    const { look } = this, put = (key, value) => (value === null ? address.delete(this.prefix + key) : address.set(this.prefix + key, value));
    this.data.controls.forEach(({ name, labels }, i) => put(name, labels[this.place[i]]));
    put("head", look.head > 0 ? look.head + 1 : null);
    put("with", look.other >= 0 ? look.other + 1 : null);
    put("token", look.token >= 0 ? look.token + 1 : null);
    put("read", look.column ? "key" : null);
    history.replaceState(history.state, "", `#${address}`);
  }

  // Takes the state from the address; what is unknown there falls back to the default. True if anything was ours.
  fromAddress() {
    const address = new URLSearchParams(location.hash.slice(1));
    const get = (key) => address.get(this.prefix + key);
    const keys = [...this.data.controls.map((control) => control.name), "head", "with", "token", "read"];
    if (!keys.some((key) => get(key) !== null)) return false;
    this.place = this.data.controls.map(({ name, labels }, i) => {
      const at = labels.indexOf(get(name));
      return at >= 0 ? at : this.model.get("place")[i];
    });
    const below = (key, bound) => (/^\d{1,3}$/.test(get(key) ?? "") && get(key) >= 1 && get(key) <= bound ? get(key) - 1 : -1);
    const heads = this.pool("heads").length, column = get("read") === "key";
    const token = below("token", this.pool(column ? "keys" : "queries").length);
    this.look = { head: Math.max(0, below("head", heads)), other: below("with", heads), token, column };
    return true;
  }

  copyLink() {
    this.writeAddress();
    const done = () => this.say("The link to this view is copied.");
    const shown = () => {
      const field = element("input", { type: "text", readonly: "", "aria-label": "link to this view", value: location.href });
      this.copy.replaceWith(field);
      field.select();
    };
    if (navigator.clipboard) navigator.clipboard.writeText(location.href).then(done, shown);
    else shown();
  }

  // ---- the kernel, where one runs ----

  listen() {
    const { model } = this;
    if (this.onSite) {
      this.copy = element("button", { type: "button", class: "mha-e-copy" }, "Copy link");
      this.copy.addEventListener("click", () => this.copyLink());
      this.controls.append(this.copy);
      this.moved = () => { if (this.fromAddress()) this.update(); };
      addEventListener("hashchange", this.moved);
      return;
    }
    model.on("change:data", () => {
      this.read();
      this.drawn = {};
      this.controls.replaceChildren(...this.data.controls.map((c, i) => this.control(c, i)), ...(this.form ? [this.form] : []));
      this.update();
    });
    model.on("change:reply", () => this.answered(model.get("reply")));
    model.send({ ask: "kernel" });
  }

  answered(reply) {
    if (reply.own && !this.form) this.controls.append(this.ownSentence(reply));
    if (this.form) this.form.querySelector("[role=alert]").textContent = reply.message ?? "";
    if (reply.place !== undefined) this.choose(this.data.controls.findIndex((c) => c.name === reply.own), reply.place);
  }

  ownSentence({ own, most_words }) {
    const id = `${this.id}-own`;
    const field = element("input", { id, type: "text", maxlength: 400, autocomplete: "off" });
    const button = element("button", { type: "submit" }, "Show");
    this.form = element("form", { class: "mha-e-control mha-e-wide" }, element("label", { for: id }, `your own ${own}, 1 to ${most_words} words`), field, button, element("span", { role: "alert" }));
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.model.send({ ask: "sentence", sentence: field.value });
    });
    return this.form;
  }

  close() {
    if (this.moved) removeEventListener("hashchange", this.moved);
  }
}

export default {
  render({ model, el }) {
    const explorer = new Explorer(model, el);
    return () => explorer.close();
  },
};
