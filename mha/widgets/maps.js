// The Explorer's pictures; its maps are canvases, for a page of as many elements would answer too late.
export const ROW = 24, CELL = 32, WIDTH = 70; // pixels: a token's height, a cell's width, the room for lines between tokens

// The weights as text, by hundredths.
const NUMBERS = Array.from({ length: 101 }, (_, i) => (i / 100).toFixed(2).replace(/^0/, ""));
const SHARP = devicePixelRatio > 1 ? 2 : 1; // canvas pixels for one of the page

// A canvas of that many pixels of the page.
export function sheet(width, height) {
  const made = element("canvas", { width: SHARP * width, height: SHARP * height });
  Object.assign(made.style, { width: `${width}px`, height: `${height}px` });
  return made;
}

// Its pen, on a clean sheet, in pixels of the page.
function clean(canvas) {
  const pen = canvas.getContext("2d");
  pen.setTransform(SHARP, 0, 0, SHARP, 0, 0);
  pen.clearRect(0, 0, canvas.width, canvas.height);
  return pen;
}

export class Maps extends Page {
  colour(head) {
    return this.data.colours[head % this.data.colours.length];
  }

  // They follow a frame after the words and the controls: all at once would answer too late. An open table is words.
  drawSoon() {
    if (!this.state.error && this.tables?.some(({ details }) => details.open)) this.updatePanels();
    if (this.waits) return;
    this.waits = true;
    requestAnimationFrame(() => requestAnimationFrame(() => {
      this.waits = false;
      this.draw();
    }));
  }

  // What stands below never jumps up.
  keepHeight() {
    const { body } = this;
    if (this.width !== body.clientWidth) body.style.minHeight = "";
    this.width = body.clientWidth;
    body.style.minHeight = `${body.offsetHeight}px`;
  }

  // A matrix to scale, its columns or rows cut in the heads' colours.
  block(name, rows, columns, bands, across, sign) {
    const unit = 2.1, width = columns * unit, height = rows * unit;
    const picture = element("svg:svg", { width: width + 2, height: height + 2, "aria-hidden": "true" });
    picture.append(element("svg:rect", { x: 1, y: 1, width, height, class: "mha-e-whole" }));
    let start = 0;
    bands.forEach((band, i) => {
      const at = 1 + start * unit, size = band * unit;
      const box = across ? { x: at, y: 1, width: size, height } : { x: 1, y: at, width, height: size };
      picture.append(element("svg:rect", { ...box, fill: this.colour(i), class: "mha-e-band" }));
      start += band;
    });
    const over = (across ? columns : rows) - start;
    const cut = `${across ? "columns" : "rows"} = ${bands.length} × ${bands[0]}${over ? `, ${over} left over` : ""}`;
    const size = element("span", {}, `${rows} × ${columns}`, element("br"), bands.length ? cut : "");
    return element("div", { class: "mha-e-block" }, element("b", {}, sign ? `${sign} ${name}` : name), picture, size);
  }

  drawMaps() {
    const { place, token, look, state: { shape: [heads, q, k] } } = this, ink = getComputedStyle(this.el).color;
    const same = [place, token, look.column, this.data.states.length];
    if (this.stale("maps", ...same)) {
      for (let head = 0; head < heads; head++) this.drawMap(this.maps[head], head, q, k);
    }
    if (!this.tables || !this.stale("panel maps", ...same, this.shown, ink)) return;
    this.tables.forEach(({ strokes, map }, i) => {
      this.drawLines(strokes, this.shown[i]);
      this.drawLarge(map, this.shown[i], ink);
    });
  }

  // A head's weights as pixels, its colour as dense as the weight.
  drawMap(canvas, head, q, k) {
    if (canvas.width !== k || canvas.height !== q) Object.assign(canvas, { width: k, height: q });
    const image = new ImageData(k, q), colour = Number.parseInt(this.colour(head).slice(1), 16);
    this.weightsOf(head).forEach((weight, at) => {
      const alpha = weight * (this.faded(Math.floor(at / k), at % k) ? 0.3 : 1);
      image.data.set([colour >> 16, (colour >> 8) & 255, colour & 255, 255 * alpha], 4 * at);
    });
    canvas.getContext("2d").putImageData(image, 0, 0);
  }

  // One head's weights as cells with their numbers, in the ink of the theme.
  drawLarge(canvas, head, ink) {
    const { q, k } = this.numbers, pen = clean(canvas), weights = this.weightsOf(head);
    const cells = (draw) => weights.forEach((weight, at) => {
      const i = Math.floor(at / k), j = at % k;
      draw(weight, this.faded(i, j), CELL * j, ROW * i);
    });
    pen.fillStyle = this.colour(head);
    cells((weight, faded, x, y) => {
      pen.globalAlpha = 0.7 * weight * (faded ? 0.3 : 1);
      pen.fillRect(x, y, CELL - 1, ROW - 1);
    });
    Object.assign(pen, { font: "10px sans-serif", textAlign: "center", textBaseline: "middle" });
    Object.assign(pen, { fillStyle: ink, strokeStyle: ink });
    cells((weight, faded, x, y) => {
      pen.globalAlpha = faded ? 0.6 : 1;
      pen.fillText(NUMBERS[Math.round(100 * weight)], x + CELL / 2, y + ROW / 2);
    });
    pen.globalAlpha = 0.3;
    for (let i = 1; i <= q; i++) pen.strokeRect(0, ROW * i - 0.5, CELL * k, 0);
    for (let j = 1; j <= k; j++) pen.strokeRect(CELL * j - 0.5, 0, 0, ROW * q);
  }

  drawLines(canvas, head) {
    const { k } = this.numbers, pen = clean(canvas), middle = (i) => ROW * (i + 1.5);
    pen.strokeStyle = this.colour(head);
    this.weightsOf(head).forEach((weight, at) => {
      const i = Math.floor(at / k), j = at % k;
      if (weight < 0.01 || this.faded(i, j)) return;
      pen.lineWidth = 0.5 + 6 * weight;
      pen.globalAlpha = 0.15 + 0.85 * weight;
      pen.beginPath();
      pen.moveTo(0, middle(i));
      pen.lineTo(WIDTH, middle(j));
      pen.stroke();
    });
  }
}
