// Shows the questions that Python computed (quiz.py: `pack`), marks the answers, and remembers which were right.
// elements.js stands before it. Nothing leaves the page.
const KEPT = "mha-quiz"; // in the browser's storage: {question: 1 right, 0 wrong}

function kept() {
  try {
    return JSON.parse(localStorage.getItem(KEPT)) ?? {};
  } catch {
    return {}; // no storage, or not ours
  }
}

function keep(marks) {
  try {
    localStorage.setItem(KEPT, JSON.stringify(marks));
  } catch { /* a browser that stores nothing still asks */ }
  dispatchEvent(new Event(KEPT)); // to the other quizzes of the page
}

// Text with `code` in it.
function rich(text) {
  return text.split("`").map((part, i) => (i % 2 ? element("code", {}, part) : part));
}

// What was typed, as a number or as a shape; null if it is none.
function numberOf(typed) {
  const plain = typed.trim().replace(/[\s,_](?=\d{3}(\D|$))/g, "").replace(/^(-?\d+)\/(\d+)$/, (_, a, b) => a / b);
  return /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(plain) ? Number(plain) : null;
}

function shapeOf(typed) {
  const plain = typed.trim().replace(/^[([]|[)\]]$/g, "").replace(/,\s*$/, "");
  const sizes = plain.split(/\s*[,;×x]\s*|\s+/);
  return sizes.every((size) => /^\d+$/.test(size)) ? sizes.map(Number) : null;
}

// One question on the page: its fields, its marking, what is said then.
class Card {
  constructor(quiz, question, variant, places, heading) {
    Object.assign(this, { quiz, question, heading, id: `mha-q-${(globalThis.mhaCards = (globalThis.mhaCards ?? 0) + 1)}` });
    this.root = element("section", { class: "mha-q" });
    this.show(variant, places);
  }

  show(variant, places) {
    this.variant = variant;
    this.asked = this.question.asks[variant];
    this.places = [...(places ?? this.asked.places)];
    this.right = null; // not answered
    const legend = element("legend", {}, element("b", {}, `${this.heading} `), ...rich(this.asked.text));
    const box = element("fieldset", {}, legend, ...this.fields());
    this.said = element("div", { class: "mha-q-said", role: "status" });
    this.button = element("button", { type: "button" }, this.quiz.verb);
    this.button.addEventListener("click", () => this.mark());
    this.row = element("div", { class: "mha-q-row" }, this.button);
    if (!this.quiz.once && this.question.asks.length > 1) {
      const other = element("button", { type: "button", class: "mha-q-other" }, "Other numbers");
      other.addEventListener("click", () => {
        this.show((this.variant + 1) % this.question.asks.length);
        this.root.querySelector(".mha-q-other").focus();
      });
      this.row.append(other);
    }
    this.root.replaceChildren(box, this.row, this.said);
  }

  fields() {
    const { kind } = this.question, { options } = this.asked;
    if (kind === "order") return [this.steps()];
    if (kind === "number" || kind === "shape") {
      const inputmode = kind === "number" ? "decimal" : "text";
      this.typed = element("input", { id: this.id, type: "text", autocomplete: "off", inputmode });
      this.typed.addEventListener("keydown", (event) => event.key === "Enter" && this.mark());
      const label = kind === "number" ? "your number" : "your shape, as (2, 3)";
      return [element("p", { class: "mha-q-typed" }, element("label", { for: this.id }, label), " ", this.typed)];
    }
    const type = kind === "one" ? "radio" : "checkbox";
    this.inputs = [];
    const rows = this.places.map((i) => {
      const input = element("input", { type, name: this.id });
      this.inputs[i] = input;
      return element("label", {}, input, element("span", {}, ...rich(options[i].text)));
    });
    return kind === "many" ? [element("p", { class: "mha-q-hint" }, "Choose all that hold."), ...rows] : rows;
  }

  // Steps to order, each with buttons that move it.
  steps() {
    if (this.places.every((place, i) => place === i)) this.places.reverse(); // no start with the right order
    const list = element("ol");
    const draw = (focus) => {
      list.replaceChildren(...this.places.map((place, at) => {
        const { text } = this.asked.options[place];
        const move = (by, word, sign) => {
          const button = element("button", { type: "button", "aria-label": `move ${word}: ${text}` }, sign);
          button.disabled = !(at + by in this.places);
          button.addEventListener("click", () => {
            [this.places[at], this.places[at + by]] = [this.places[at + by], this.places[at]];
            draw([at + by, word]);
          });
          return button;
        };
        return element("li", {}, move(-1, "up", "↑"), move(1, "down", "↓"), element("span", {}, ...rich(text)));
      }));
      if (!focus) return;
      const [up, down] = list.children[focus[0]].querySelectorAll("button");
      const wanted = focus[1] === "up" ? up : down;
      (wanted.disabled ? (wanted === up ? down : up) : wanted).focus();
    };
    draw();
    return list;
  }

  // What was answered: {right, faults: options or rules that say why not}, or {missing: what to do first}.
  answer() {
    const { kind } = this.question, { options, rules } = this.asked;
    if (kind === "order") {
      const at = options.map((_, i) => this.places.indexOf(i));
      const broken = rules.filter(([first, second]) => at[first] > at[second]).map(([, , name, why]) => ({ name, why }));
      return { right: at.every((place, i) => place === i), faults: broken };
    }
    if (kind === "number" || kind === "shape") {
      const value = (kind === "number" ? numberOf : shapeOf)(this.typed.value);
      if (value === null) return { missing: `Type a ${kind}, such as ${kind === "number" ? "64 or 0.5" : "(2, 3)"}.` };
      const near = (option) => Math.abs(option.value - value) <= option.within;
      const hit = options.find(kind === "number" ? near : (option) => String(option.value) === String(value));
      return { right: hit?.right ?? false, faults: hit && !hit.right ? [hit] : [], praise: hit?.why };
    }
    const chosen = options.filter((_, i) => this.inputs[i].checked);
    if (!chosen.length) return { missing: "Choose first." };
    const faults = chosen.filter((option) => !option.right);
    const lacking = options.some((option, i) => option.right && !this.inputs[i].checked);
    return { right: !faults.length && !lacking, faults, lacking, praise: chosen.map((option) => option.why).join(" ") };
  }

  mark() {
    const { right, faults, lacking, praise, missing } = this.answer();
    if (missing) {
      this.said.replaceChildren(missing);
      return;
    }
    const see = (link) => element("a", { href: this.quiz.link(link) }, this.quiz.data.places[link]);
    const words = faults.map(({ name, why, see: own }) =>
      element("p", {}, element("b", {}, `${name}. `), ...rich(why), ...(own ? [" Read ", see(own), "."] : [])));
    if (lacking && !faults.length) words.push(element("p", {}, "What you chose holds, and more does."));
    if (right && praise) words.push(element("p", {}, ...rich(praise)));
    if (!right && !words.length) words.push(element("p", {}, "It shows none of the mistakes known here."));
    if (!right) words.push(element("p", {}, "What settles it: ", see(this.question.see), "."));
    if (!right || this.quiz.once) words.push(this.solution(!this.quiz.once));
    this.said.replaceChildren(element("p", { class: "mha-q-mark" }, right ? "✓ Right." : "✗ Not right."), ...words);
    this.root.classList.toggle("mha-q-right", right);
    this.root.classList.toggle("mha-q-wrong", !right);
    this.right = right;
    if (this.quiz.once) this.root.querySelectorAll("input, button").forEach((field) => { field.disabled = true; });
    keep({ ...kept(), [this.question.name]: Number(right) });
    this.quiz.marked();
  }

  solution(folded) {
    const answer = element("p", {}, ...rich(this.asked.answer));
    if (folded) return element("details", {}, element("summary", {}, "Show the answer"), answer);
    return element("p", {}, element("b", {}, "The answer: "), ...rich(this.asked.answer));
  }
}

// The questions of a chapter, and how many of the book's have been right.
export class Quiz {
  constructor(model, el) {
    Object.assign(this, { data: model.get("data"), el, once: false, verb: "Check", static: model.static === true });
    el.classList.add("mha-quiz");
    el.addEventListener("keydown", (event) => event.stopPropagation()); // JupyterLab would take the arrow keys
    this.build();
    this.marked();
    this.renew = () => this.marked();
    addEventListener(KEPT, this.renew);
  }

  build() {
    const { questions } = this.data;
    this.cards = questions.map((q, i) => new Card(this, q, 0, null, `${i + 1}.`));
    this.progress = element("details", { class: "mha-q-progress" });
    this.el.append(...this.cards.map((card) => card.root), this.progress);
    this.printed();
  }

  // On paper the answers stand at the end.
  printed() {
    const items = this.cards.map((card) => element("li", {}, ...rich(card.asked.answer)));
    this.answers?.remove();
    this.answers = element("div", { class: "mha-q-answers" }, element("b", {}, "Answers"), element("ol", {}, ...items));
    this.el.append(this.answers);
  }

  link(see) {
    const [chapter, section] = see.split("#");
    if (this.static) return `${chapter}.html#${section}`;
    const { pathname } = location; // JupyterLab's
    return `${pathname.includes("/tree/") ? "" : `${pathname.replace(/\/$/, "")}/tree/`}${chapter}.ipynb`;
  }

  marked() {
    const marks = kept();
    const row = (chapter, names) => {
      const right = names.filter((name) => marks[name] === 1).length;
      return element("li", {}, `${this.data.titles[chapter]}: ${right} of ${names.length} right`);
    };
    const clear = element("button", { type: "button" }, "Clear my progress");
    clear.addEventListener("click", () => keep({}));
    const here = this.data.questions.filter(({ name }) => marks[name] === 1).length;
    const summary = element("summary", {}, `Your progress: ${here} of ${this.data.questions.length} right in this chapter`);
    const rows = Object.entries(this.data.chapters).map(([chapter, names]) => row(chapter, names));
    const where = element("p", {}, "It is kept in this browser and sent nowhere.");
    this.progress.replaceChildren(summary, element("ul", {}, ...rows), where, clear);
  }

  close() {
    removeEventListener(KEPT, this.renew);
  }
}
