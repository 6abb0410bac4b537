// The mock exam: questions drawn by a seed, as draw.py draws them, and a score by trap. quiz.js stands before it.
const MULTIPLIER = 48271, MODULUS = 2 ** 31 - 1;

// below(n): the next whole number from 0 to n - 1.
function generator(seed) {
  let state = (seed % (MODULUS - 1)) + 1;
  const below = (n) => {
    state = (state * MULTIPLIER) % MODULUS;
    return Math.floor((state * n) / MODULUS);
  };
  for (let i = 0; i < 8; i++) below(1);
  return below;
}

function shuffled(items, below) {
  const all = [...items];
  for (let i = all.length - 1; i > 0; i--) {
    const j = below(i + 1);
    [all[i], all[j]] = [all[j], all[i]];
  }
  return all;
}

// [[question, variant, places], ...] of a seed.
export function drawn({ questions, a_trap, in_all }, seed) {
  const below = generator(seed), all = questions.map((_, i) => i), chosen = [];
  for (const trap of [1, 2, 3, 4, 5]) {
    chosen.push(...shuffled(all.filter((i) => questions[i].trap === trap), below).slice(0, a_trap));
  }
  const rest = shuffled(all.filter((i) => !chosen.includes(i)), below);
  return shuffled([...chosen, ...rest.slice(0, in_all - chosen.length)], below).map((i) => {
    const { asks } = questions[i], variant = below(asks.length);
    return [questions[i], variant, shuffled(asks[variant].options.keys(), below)];
  });
}

const SEED = /^\d{1,9}$/;

export class Exam extends Quiz {
  build() {
    Object.assign(this, { once: true, verb: "Reveal" });
    const button = (text, act) => {
      const made = element("button", { type: "button" }, text);
      made.addEventListener("click", act);
      return made;
    };
    this.field = element("input", { id: "mha-exam-seed", type: "text", inputmode: "numeric", size: 9, maxlength: 20 });
    const form = element("form", { class: "mha-q-row" });
    form.append(element("label", { for: "mha-exam-seed" }, "seed"), this.field, element("button", {}, "Draw"));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.take(this.field.value.trim());
    });
    const another = button("Another exam", () => this.take(String(Math.floor(Math.random() * 1e6))));
    this.time = element("span", { role: "timer", class: "mha-q-time" });
    this.hide = button("Hide the time", () => {
      this.time.hidden = !this.time.hidden;
      this.hide.textContent = this.time.hidden ? "Show the time" : "Hide the time";
    });
    form.append(another, this.time, this.hide);
    this.about = element("p", { class: "mha-q-about", role: "status" });
    this.list = element("div");
    this.finish = button("Finish and see the score", () => this.score());
    this.result = element("div", { class: "mha-q-result", tabindex: -1 });
    this.progress = element("details"); // the exam has its own score
    this.el.append(form, this.about, this.list, element("p", {}, this.finish), this.result);
    this.clock = setInterval(() => this.tick(), 1000);
    this.moved = () => {
      const seed = this.inAddress();
      if (seed && seed !== this.seed) this.take(seed);
    };
    addEventListener("hashchange", this.moved);
    this.take(this.inAddress() || String(this.data.seed), false);
  }

  inAddress() {
    const seed = this.static ? new URLSearchParams(location.hash.slice(1)).get("seed") : null;
    return SEED.test(seed ?? "") ? String(Number(seed)) : ""; // 007 is 7
  }

  take(typed, asked = true) {
    if (!SEED.test(typed)) {
      this.about.textContent = `The seed must be a whole number from 0 to 999,999,999, not “${typed}”.`;
      return;
    }
    this.seed = String(Number(typed));
    this.field.value = this.seed;
    const exam = drawn(this.data, Number(typed));
    this.cards = exam.map(([question, variant, places], i) => new Card(this, question, variant, places, `${i + 1}.`));
    this.list.replaceChildren(...this.cards.map((card) => card.root));
    this.result.replaceChildren();
    this.began = Date.now();
    this.tick();
    this.printed();
    if (asked && this.static) history.replaceState(history.state, "", `#seed=${this.seed}`);
    this.marked();
  }

  tick() {
    const seconds = Math.floor((Date.now() - this.began) / 1000), two = (n) => String(n).padStart(2, "0");
    if (!this.result.hasChildNodes()) this.time.textContent = `${two(Math.floor(seconds / 60))}:${two(seconds % 60)}`;
  }

  marked() {
    if (!this.cards) return;
    const done = this.cards.filter((card) => card.right !== null).length;
    const link = element("a", { href: `#seed=${this.seed}` }, `Exam ${this.seed}`);
    this.about.replaceChildren(link, `: ${done} of ${this.cards.length} answered.`);
    if (done === this.cards.length) this.score();
  }

  score() {
    const rows = Object.entries(this.data.traps).map(([trap, name]) => {
      const asked = this.cards.filter(({ question }) => String(question.trap) === trap);
      const again = [...new Set(asked.filter((card) => !card.right).map((card) => card.question.see))];
      const links = again.map((see) => element("li", {}, element("a", { href: this.link(see) }, this.data.places[see])));
      const right = asked.filter((card) => card.right).length;
      const cells = [element("th", { scope: "row" }, name), element("td", {}, `${right} of ${asked.length}`)];
      const advice = element("td", {}, links.length ? element("ul", {}, ...links) : "nothing");
      return asked.length ? element("tr", {}, ...cells, advice) : "";
    });
    const right = this.cards.filter((card) => card.right).length;
    const heads = ["trap", "right", "read again"].map((text) => element("th", { scope: "col" }, text));
    const table = element("table", {}, element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...rows));
    const score = element("p", {}, element("b", {}, `${right} of ${this.cards.length} right.`), " By trap:");
    this.result.replaceChildren(score, table);
    this.result.focus();
  }

  close() {
    super.close();
    clearInterval(this.clock);
    removeEventListener("hashchange", this.moved);
  }
}

export default {
  render({ model, el }) {
    const quiz = new (model.get("data").exam ? Exam : Quiz)(model, el);
    return () => quiz.close();
  },
};
