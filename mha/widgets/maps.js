// What the Explorer draws on canvases: a page of as many elements would answer too late.
export const ROW = 24, CELL = 32, WIDTH = 70; // pixels: a token's height, a cell's width, the room for lines between tokens

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

  // A head's weights as pixels, its colour as dense as the weight.
  drawMap(canvas, head, q, k) {
    if (canvas.width !== k || canvas.height !== q) Object.assign(canvas, { width: k, height: q });
    const image = new ImageData(k, q), pixels = image.data, rgb = [1, 3, 5].map((at) => this.colour(head).slice(at, at + 2));
    const [red, green, blue] = rgb.map((hex) => Number.parseInt(hex, 16));
    for (let i = 0, at = 0; i < q; i++) {
      for (let j = 0; j < k; j++, at += 4) {
        pixels[at] = red;
        pixels[at + 1] = green;
        pixels[at + 2] = blue;
        pixels[at + 3] = 255 * this.weight(head, i, j) * (this.faded(i, j) ? 0.3 : 1);
      }
    }
    canvas.getContext("2d").putImageData(image, 0, 0);
  }

  // One head's weights as cells with their numbers.
  drawLarge(canvas, head) {
    const { q, k } = this.numbers, pen = clean(canvas), ink = getComputedStyle(canvas).color;
    Object.assign(pen, { font: "10px sans-serif", textAlign: "center", textBaseline: "middle", strokeStyle: ink });
    for (let i = 0; i < q; i++) {
      for (let j = 0; j < k; j++) {
        const weight = this.weight(head, i, j), faded = this.faded(i, j), x = CELL * j, y = ROW * i;
        pen.globalAlpha = 0.7 * weight * (faded ? 0.3 : 1);
        pen.fillStyle = this.colour(head);
        pen.fillRect(x, y, CELL - 1, ROW - 1);
        pen.globalAlpha = faded ? 0.6 : 1;
        pen.fillStyle = ink;
        pen.fillText(weight.toFixed(2).replace(/^0/, ""), x + CELL / 2, y + ROW / 2);
      }
    }
    pen.globalAlpha = 0.3;
    for (let i = 1; i <= q; i++) pen.strokeRect(0, ROW * i - 0.5, CELL * k, 0);
    for (let j = 1; j <= k; j++) pen.strokeRect(CELL * j - 0.5, 0, 0, ROW * q);
  }

  drawLines(canvas, head) {
    const { q, k } = this.numbers, pen = clean(canvas), middle = (i) => ROW * (i + 1.5);
    pen.strokeStyle = this.colour(head);
    for (let i = 0; i < q; i++) {
      for (let j = 0; j < k; j++) {
        const weight = this.weight(head, i, j);
        if (weight < 0.01 || this.faded(i, j)) continue;
        pen.lineWidth = 0.5 + 6 * weight;
        pen.globalAlpha = 0.15 + 0.85 * weight;
        pen.beginPath();
        pen.moveTo(0, middle(i));
        pen.lineTo(WIDTH, middle(j));
        pen.stroke();
      }
    }
  }
}
