// Draws what `Explorer` (explorer.py) computed: its `pack` describes the data. Nothing is computed here.
// page.js and maps.js stand before it.

function decoded(base64) {
  return Uint8Array.from(atob(base64), (c) => c.charCodeAt(0)).buffer;
}

class Explorer extends Maps {
  constructor(model, el) {
    super();
    // On this page: each keeps its own part of the address. JupyterLab loads this script once for each Explorer.
    globalThis.mhaExplorers = (globalThis.mhaExplorers ?? 0) + 1;
    const number = model.order ?? globalThis.mhaExplorers;
    const name = model.get("name") || (number > 1 ? String(number) : "");
    this.prefix = name && `${name}.`;
    this.id = `mha-explorer-${number}`;
    this.model = model;
    this.el = el;
    this.place = [...model.get("place")]; // of each control's value
    this.look = { head: 0, other: -1, token: model.get("token"), column: false }; // -1: none
    this.hover = -1;
    this.drawn = {}; // what each part shows now, so that it is made again only where it must be
    el.classList.add("mha-explorer");
    // JupyterLab would take the arrow keys.
    el.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key !== "Escape") return;
      this.hover = -1;
      this.set({ token: -1 });
    });
    this.read();
    this.build();
    this.onSite = model.static === true; // a page without a kernel: its address can hold the state
    if (this.onSite && this.fromAddress()) el.scrollIntoView({ block: "nearest" });
    this.update();
    this.listen();
    // Canvases keep the ink of the theme that they were drawn in.
    this.themes = new MutationObserver(() => this.update());
    const watched = { attributeFilter: ["data-theme", "data-jp-theme-light"] };
    for (const part of [document.documentElement, document.body]) this.themes.observe(part, watched);
  }

  read() {
    this.data = this.model.get("data");
    this.cache = new Map();
  }

  get state() {
    return this.data.states[this.at(this.place)];
  }

  at(place) {
    return this.data.controls.reduce((at, control, i) => at * control.labels.length + place[i], 0);
  }

  pool(name) {
    return this.data.pool[this.state[name]];
  }

  // Weights (heads, q_len, kv_len) and most looked at of the state, as typed arrays.
  get numbers() {
    const { cache, state } = this;
    if (!cache.has(state)) {
      const { weights, most, shape: [, q, k] } = state;
      cache.set(state, { weights: new Uint16Array(decoded(weights)), most: new Uint8Array(decoded(most)), q, k });
    }
    return cache.get(state);
  }

  weight(head, query, key) {
    const { weights, q, k } = this.numbers;
    return weights[(head * q + query) * k + key] / this.data.full;
  }

  // A head's weights (q_len, kv_len), flat.
  weightsOf(head) {
    const { weights, q, k } = this.numbers;
    return Float32Array.from(weights.subarray(head * q * k, (head + 1) * q * k), (stored) => stored / this.data.full);
  }

  set(look, place = this.place) {
    Object.assign(this.look, look);
    if (this.at(place) !== this.at(this.place)) this.keepHeight();
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
    const part = (name, tag = "div", attributes = {}) => {
      this[name] = element(tag, { class: `mha-e-${name}`, ...attributes });
      return this[name];
    };
    const controls = part("controls");
    controls.append(...this.data.controls.map((c, i) => this.control(c, i)));
    this.el.append(controls, part("error", "div", { role: "alert" }), part("body"));
    const all = {
      blocks: [part("blocks")],
      heads: [part("heads", "fieldset")],
      map: [part("tokens", "fieldset"), part("looks"), part("status", "p", { role: "status" }), part("panels")],
      counts: [part("counts", "dl")],
    };
    for (const [name, made] of Object.entries(all)) {
      if (parts.includes(name)) this.body.append(...made);
    }
    if (!parts.includes("map")) this.heads.after(this.status);
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
    return element("div", { class: "mha-e-control mha-e-slider" }, label, slider, element("output", { for: id }));
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
    const ways = ["query → key", "key → query"];
    this.reading = this.radios(reading, "read", ways, 0, (i) => this.set({ column: i === 1 }));
    const id = `${this.id}-other`;
    this.other = element("select", { id });
    this.other.addEventListener("change", () => this.set({ other: this.other.selectedIndex - 1 }));
    const label = element("label", { for: id }, "compare with");
    this.looks.append(reading, element("div", { class: "mha-e-control" }, label, this.other));
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
    }
    this.say(this.sentence());
    if (!this.tables && !state.error) this.updatePanels(); // they take their room at once
    this.drawSoon();
  }

  // The pictures, and the numbers beside them.
  draw() {
    if (this.state.error) return;
    this.updatePanels();
    this.drawMaps();
  }

  updateControls() {
    this.data.controls.forEach(({ labels, kind }, i) => {
      if (!this.stale(`control ${i}`, this.place[i])) return;
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
    this.blocks.replaceChildren(...this.pool("blocks").map((block) => this.block(...block)));
  }

  // One of a group of radio buttons as chosen; -1 is none.
  mark(group, chosen) {
    group.querySelectorAll("input").forEach((input, i) => {
      input.checked = i === chosen;
      input.parentElement.classList.toggle("mha-e-on", i === chosen);
    });
  }

  updateHeads() {
    const names = this.pool("heads"), { look } = this;
    if (this.stale("heads", this.state.heads)) {
      const labels = this.radios(this.heads, "head", names, look.head, (i) => this.set({ head: i }));
      this.maps = labels.map((label, i) => {
        const map = element("canvas", { "aria-hidden": "true", style: `border-color:${this.colour(i)}` });
        label.prepend(map);
        return map;
      });
      this.other.replaceChildren(...["no other head", ...names].map((name) => element("option", {}, name)));
    }
    if (this.stale("chosen heads", this.state.heads, look.head, look.other)) {
      this.mark(this.heads, look.head);
      this.other.selectedIndex = look.other + 1;
    }
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
      labels.forEach((label, i) => { this.hovers(label, () => i); });
    }
    if (!this.stale("chosen token", side, this.state[side], this.look.token)) return;
    this.mark(this.tokens, this.look.token);
    this.reading[Number(this.look.column)].querySelector("input").checked = true;
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
    this.drawSoon();
  }

  get shown() {
    return [this.look.head, this.look.other].filter((head) => head >= 0);
  }

  updatePanels() {
    if (!this.body.contains(this.panels)) return;
    const shown = this.shown;
    if (this.stale("panels", shown.length, this.state.queries, this.state.keys)) {
      this.tables = shown.map(() => this.panel());
      this.panels.replaceChildren(...this.tables.map((table) => table.root));
    }
    this.tables.forEach((table, i) => { this.updatePanel(table, shown[i]); });
  }

  // Lines from queries to keys, the map with its numbers, and the same numbers as a table.
  panel() {
    const queries = this.pool("queries"), keys = this.pool("keys");
    const side = (head, words) => [head, ...words].map((word) => element("span", {}, word));
    const starts = side("query ↓", queries), ends = side("key ↓", keys);
    const strokes = sheet(WIDTH, ROW * Math.max(starts.length, ends.length));
    const columns = [element("div", {}, ...starts), strokes, element("div", {}, ...ends)];
    const lines = element("div", { class: "mha-e-lines", "aria-hidden": "true" }, ...columns);

    const map = sheet(CELL * keys.length, ROW * queries.length);
    const at = ({ offsetX, offsetY }) => Math.floor(this.look.column ? offsetX / CELL : offsetY / ROW);
    map.addEventListener("pointermove", (event) => event.pointerType !== "touch" && this.setHover(at(event)));
    map.addEventListener("pointerleave", () => this.setHover(-1));
    map.addEventListener("click", (event) => this.set({ token: at(event) }));
    const over = element("div", { class: "mha-e-over" }, ...keys.map((word) => element("span", {}, word)));
    const beside = element("div", { class: "mha-e-beside" }, ...queries.map((word) => element("span", {}, word)));
    const axes = element("i", {}, "query ↓ key →");
    const large = element("div", { class: "mha-e-large", "aria-hidden": "true" }, axes, over, beside, map);

    const cells = queries.map(() => keys.map(() => element("td")));
    const heads = keys.map((word) => element("th", { scope: "col" }, word));
    const rows = queries.map((word, i) => element("tr", {}, element("th", { scope: "row" }, word), ...cells[i]));
    const first = element("tr", {}, element("th", { scope: "col" }, "query ↓ key →"), ...heads);
    const caption = element("caption"), title = element("b");
    const table = element("table", {}, caption, element("thead", {}, first), element("tbody", {}, ...rows));
    const frame = (name, inside) => {
      return element("div", { class: "mha-e-frame", tabindex: 0, role: "region", "aria-label": name }, inside);
    };
    const details = element("details", {}, element("summary", {}, "Table of the numbers"), frame("table of weights", table));
    details.addEventListener("toggle", () => {
      this.open = details.open;
      this.body.style.minHeight = "";
      this.updatePanels();
    });
    details.open = this.open ?? false;
    const root = element("div", { class: "mha-e-panel" }, title, lines, frame("map of weights", large), details);
    return { root, title, caption, strokes, map, starts: starts.slice(1), ends: ends.slice(1), cells, details };
  }

  updatePanel({ title, caption, starts, ends, cells, details }, head) {
    const { column } = this.look, { token } = this;
    title.textContent = this.pool("heads")[head];
    const label = (text, i, words, own) => {
      const [query, key] = column ? [i, token] : [token, i];
      const kind = own && token >= 0 ? (i === token ? "mha-e-chosen" : "mha-e-faded") : "";
      text.firstChild.data = words[i] + (token >= 0 && !own ? ` ${this.weight(head, query, key).toFixed(2)}` : "");
      text.className = kind;
    };
    starts.forEach((text, i) => { label(text, i, this.pool("queries"), !column); });
    ends.forEach((text, i) => { label(text, i, this.pool("keys"), column); });
    if (!details.open) return;
    caption.textContent = `${this.pool("heads")[head]}: each row is a query, each column a key`;
    cells.forEach((row, i) => row.forEach((cell, j) => {
      cell.textContent = this.weight(head, i, j).toFixed(2);
      cell.className = this.faded(i, j) ? "mha-e-faded" : "";
    }));
  }

  updateCounts() {
    if (!this.stale("counts", this.state.counts)) return;
    this.counts.replaceChildren(...this.pool("counts").map(([what, number, how]) => {
      const note = element("small", {}, how === "same" ? "the same for every h" : "grows with h");
      return element("div", { class: `mha-e-${how}` }, element("dt", {}, what), element("dd", {}, number, note));
    }));
  }

  // ---- in words ----

  sentence() {
    if (this.state.error) return "";
    const { token, column } = this.look, [, q, k] = this.state.shape, at = Math.max(0, token);
    return this.shown.map((i) => {
      const most = this.numbers.most[i * (q + k) + (column ? q : 0) + at];
      const [query, key] = column ? [most, at] : [at, most];
      const weight = this.weight(i, query, key).toFixed(2);
      const fill = { head: this.pool("heads")[i], query: this.pool("queries")[query], key: this.pool("keys")[key], weight };
      return this.pool("say")[Number(column)].replace(/\{(\w+)\}/g, (_, name) => fill[name]);
    }).join(" ");
  }

  say(words) {
    if (this.status.textContent !== words) this.status.textContent = words;
  }
}

export default {
  render({ model, el }) {
    const explorer = new Explorer(model, el);
    return () => explorer.close();
  },
};
