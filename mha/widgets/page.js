// What a widget has to do with the page that it stands on: its address, and the kernel where one runs.
// explorer.py puts this before explorer.js.
export class Page {
  // ---- the address ----

  toAddress() {
    if (!this.onSite) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.writeAddress(), 150); // browsers refuse many changes at once
  }

  writeAddress() {
    const address = new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : "");
    const { head, other, token, column } = this.look;
    const put = (key, value) => {
      if (value === "") address.delete(this.prefix + key);
      else address.set(this.prefix + key, value);
    };
    this.data.controls.forEach(({ name, labels }, i) => { put(name, labels[this.place[i]]); });
    put("head", head > 0 ? head + 1 : "");
    put("with", other >= 0 ? other + 1 : "");
    put("token", token >= 0 ? token + 1 : "");
    put("read", column ? "key" : "");
    history.replaceState(history.state, "", `#${address}`);
  }

  // Takes the state from the address; what is unknown there falls back to the default. True if anything was ours.
  fromAddress() {
    const address = new URLSearchParams(location.hash.slice(1)), get = (key) => address.get(this.prefix + key) ?? "";
    const keys = [...this.data.controls.map(({ name }) => name), "head", "with", "token", "read"];
    if (!keys.some((key) => address.has(this.prefix + key))) return false;
    this.place = this.data.controls.map(({ name, labels }, i) => {
      const at = labels.indexOf(get(name));
      return at >= 0 ? at : this.model.get("place")[i];
    });
    const below = (key, bound) => (/^[1-9]\d{0,2}$/.test(get(key)) && get(key) <= bound ? get(key) - 1 : -1);
    const heads = this.pool("heads").length, column = get("read") === "key";
    const token = below("token", this.pool(column ? "keys" : "queries").length);
    this.look = { head: Math.max(0, below("head", heads)), other: below("with", heads), token, column };
    return true;
  }

  copyLink() {
    this.writeAddress();
    const show = () => {
      const field = element("input", { type: "text", readonly: "", "aria-label": "link to this view", value: location.href });
      this.copy.replaceWith(field);
      field.select();
    };
    if (!navigator.clipboard) return show();
    navigator.clipboard.writeText(location.href).then(() => this.say("The link to this view is copied."), show);
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
      this.controls.replaceChildren(...this.data.controls.map((c, i) => this.control(c, i)), this.form ?? "");
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
    const label = element("label", { for: id }, `your own ${own}, 1 to ${most_words} words`);
    const button = element("button", { type: "submit" }, "Show");
    this.form = element("form", { class: "mha-e-control mha-e-wide" }, label, field, button, element("span", { role: "alert" }));
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.model.send({ ask: "sentence", sentence: field.value });
    });
    return this.form;
  }

  close() {
    this.themes.disconnect();
    if (this.moved) removeEventListener("hashchange", this.moved);
  }
}
