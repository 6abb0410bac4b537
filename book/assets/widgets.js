// Draws the book's widgets without a kernel, from the states that the notebook computed.
// Python made every picture and number: moving a control only chooses among them.
// _ext/pages.py writes the states (#mha-widgets) and, for each widget, a .mha-widget with its first picture.
(() => {
  const states = JSON.parse(document.getElementById("mha-widgets").textContent);
  const listeners = {}; // model -> functions called when its state changes
  const model = (id) => states[id.replace("IPY_MODEL_", "")];
  const on = (id, f) => (listeners[id.replace("IPY_MODEL_", "")] ??= []).push(f);

  function set(id, name, value) {
    const key = id.replace("IPY_MODEL_", "");
    if (states[key][name] === value) return;
    states[key][name] = value;
    for (const f of listeners[key] ?? []) f();
  }

  // A link hands the index of a control on to the stack that it chooses in.
  for (const { kind, source, target } of Object.values(states)) {
    if (kind === "LinkModel" || kind === "DirectionalLinkModel") {
      on(source[0], () => set(target[0], target[1], model(source[0])[source[1]]));
    }
  }

  function element(name, attributes = {}, ...children) {
    const e = document.createElement(name);
    for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
    e.append(...children);
    return e;
  }

  let count = 0;
  const draw = {
    HTMLModel(m) {
      const e = element("div");
      e.innerHTML = m.value;
      return e;
    },
    VBoxModel: (m) => element("div", {}, ...m.children.map(drawn)),
    HBoxModel: (m) => element("div", {}, ...m.children.map(drawn)),
    StackModel(m, id) {
      const e = element("div"), seen = [];
      const show = () => {
        const i = m.selected_index;
        e.style.minHeight = `${e.offsetHeight}px`; // what stands below never jumps up
        e.replaceChildren((seen[i] ??= drawn(m.children[i])));
      };
      show();
      on(id, show);
      return e;
    },
    SelectionSliderModel(m, id) {
      const name = `mha-control-${++count}`;
      const input = element("input", { id: name, type: "range", min: 0, max: m._options_labels.length - 1, step: 1 });
      const said = element("output", { for: name });
      const show = () => {
        input.value = m.index;
        said.textContent = m._options_labels[m.index];
        input.setAttribute("aria-valuetext", said.textContent); // the value, not its index
      };
      show();
      on(id, show);
      input.addEventListener("input", () => set(id, "index", Number(input.value)));
      return element("div", { class: "mha-control" }, element("label", { for: name }, m.description), input, said);
    },
    ToggleButtonsModel(m, id) {
      const name = `mha-control-${++count}`;
      const box = element("fieldset", { class: "mha-control" }, element("legend", {}, m.description));
      const inputs = m._options_labels.map((label, i) => {
        const input = element("input", { type: "radio", name });
        input.addEventListener("change", () => set(id, "index", i));
        box.append(element("label", {}, input, label));
        return input;
      });
      const show = () => inputs.forEach((input, i) => { input.checked = i === m.index; });
      show();
      on(id, show);
      return box;
    },
  };
  const drawn = (id) => draw[model(id).kind](model(id), id);

  // An anywidget brings its own script: it gets what it reads of the state, and no kernel.
  async function drawAny(id, into, order) {
    const m = model(id);
    if (m._css) document.head.append(element("style", {}, m._css));
    const url = URL.createObjectURL(new Blob([m._esm], { type: "text/javascript" }));
    const { default: widget } = await import(url);
    const el = element("div", { class: "mha-live widget-subarea" });
    into.querySelector(".mha-still").replaceWith(el);
    into.closest("article")?.classList.add("mha-layers"); // a class, for :has is slow
    const none = () => {};
    widget.render({ model: { static: true, order, get: (name) => m[name], set: none, save_changes: none, on: none }, el });
  }

  // A screen reader hears the first line of what a control has changed.
  function announce(widget) {
    const status = element("p", { role: "status", class: "mha-status" });
    let timer;
    widget.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        const first = widget.querySelector(".mha-error, p:not(.mha-status), svg > title");
        status.textContent = first ? first.textContent.split(/\.\s/)[0] : "";
      }, 400);
    });
    widget.append(status);
  }

  let anywidgets = 0;
  for (const widget of document.querySelectorAll(".mha-widget")) {
    if (model(widget.dataset.model).kind === "AnyModel") {
      drawAny(widget.dataset.model, widget, ++anywidgets);
      continue;
    }
    const still = widget.querySelector(".mha-still");
    still.replaceWith(element("div", { class: "mha-live widget-subarea" }, drawn(widget.dataset.model)));
    announce(widget);
  }
})();
