// Draws the book's widgets without a kernel, from the states that the notebook computed.
// Python made every picture and number: moving a control only chooses among them.
// _ext/pages.py writes, for each widget, a .mha-widget with its first picture, and beside the page a script with the
// states. That is loaded when the first widget comes near, and each widget is drawn when it does.
(() => {
  const { states: source } = document.currentScript.dataset;
  const NEAR = "1200px"; // above and below what is seen
  let states; // of all models of the page
  const listeners = {}; // model -> functions called when its state changes
  const model = (id) => states[id.replace("IPY_MODEL_", "")];
  const on = (id, f) => (listeners[id.replace("IPY_MODEL_", "")] ??= []).push(f);

  function set(id, name, value) {
    const key = id.replace("IPY_MODEL_", "");
    if (states[key][name] === value) return;
    states[key][name] = value;
    for (const f of listeners[key] ?? []) f();
  }

  // The states, once for the page: a script, for a page opened from a folder may not fetch data.
  let loading;
  function load() {
    loading ??= new Promise((done) => {
      if (globalThis.mhaWidgets) return done();
      const script = element("script", { src: source });
      script.addEventListener("load", done);
      document.head.append(script);
    }).then(() => {
      const { texts, models } = globalThis.mhaWidgets;
      states = models;
      for (const m of Object.values(states)) for (const name of ["_esm", "_css"]) if (name in m) m[name] = texts[m[name]];
      // A link hands the index of a control on to the stack that it chooses in.
      for (const { kind, source: from, target } of Object.values(states)) {
        if (kind !== "LinkModel" && kind !== "DirectionalLinkModel") continue;
        on(from[0], () => set(target[0], target[1], model(from[0])[from[1]]));
      }
    });
    return loading;
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
  const modules = {}; // one for all widgets of the same script
  async function renderer(m, order) {
    if (!modules[m._esm]) {
      modules[m._esm] = import(URL.createObjectURL(new Blob([m._esm], { type: "text/javascript" })));
      if (m._css) document.head.append(element("style", {}, m._css));
    }
    const { default: widget } = await modules[m._esm];
    const none = () => {};
    const kernelless = { static: true, order, get: (name) => m[name], set: none, save_changes: none, on: none };
    return (el) => widget.render({ model: kernelless, el });
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

  const widgets = [...document.querySelectorAll(".mha-widget")], waits = new Set(widgets);
  const ours = widgets.filter((widget) => widget.classList.contains("mha-any")); // anywidgets

  async function drawWidget(widget) {
    if (!waits.delete(widget)) return;
    near.unobserve(widget);
    await load();
    const id = widget.dataset.model, any = ours.indexOf(widget) + 1;
    const render = any ? await renderer(model(id), any) : (el) => el.append(drawn(id));
    await new Promise((next) => { setTimeout(next); }); // a task of its own
    const el = element("div", { class: "mha-live widget-subarea" }), touched = widget.contains(document.activeElement);
    widget.querySelector(".mha-still").replaceWith(el);
    widget.querySelector(".mha-wake").remove();
    if (any) widget.closest("article")?.classList.add("mha-layers"); // a class, for :has is slow
    else announce(widget);
    render(el);
    if (touched) el.querySelector("input, select, button").focus();
  }

  const near = new IntersectionObserver((all) => {
    for (const { isIntersecting, target } of all) if (isIntersecting) drawWidget(target);
  }, { rootMargin: `${NEAR} 0px` });
  for (const widget of widgets) {
    // The Tab key and a screen reader's list of controls find a widget that is not drawn yet.
    const wake = element("button", { type: "button", class: "mha-wake mha-status" }, "Show the controls");
    for (const event of ["focus", "click"]) wake.addEventListener(event, () => drawWidget(widget));
    widget.append(wake);
    near.observe(widget);
  }

  // An address may hold the state of a widget that is far away.
  const addressed = () => { if (location.hash.includes("=")) ours.forEach(drawWidget); };
  addEventListener("hashchange", addressed);
  addressed();
})();
