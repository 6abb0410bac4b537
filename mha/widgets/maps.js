// What the Explorer draws on canvases: a page of as many elements would answer too late.
export const ROW = 24, CELL = 32, WIDTH = 70; // pixels: a token's height, a cell's width, the room for lines between tokens

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
    const { q, k } = this.numbers, pen = canvas.getContext("2d"), ink = getComputedStyle(canvas).color;
    pen.clearRect(0, 0, canvas.width, canvas.height);
    Object.assign(pen, { font: "20px sans-serif", textAlign: "center", textBaseline: "middle", strokeStyle: ink });
    for (let i = 0; i < q; i++) {
      for (let j = 0; j < k; j++) {
        const weight = this.weight(head, i, j), faded = this.faded(i, j), x = 2 * CELL * j, y = 2 * ROW * i;
        pen.globalAlpha = 0.7 * weight * (faded ? 0.3 : 1);
        pen.fillStyle = this.colour(head);
        pen.fillRect(x, y, 2 * CELL - 2, 2 * ROW - 2);
        pen.globalAlpha = faded ? 0.6 : 1;
        pen.fillStyle = ink;
        pen.fillText(weight.toFixed(2).replace(/^0/, ""), x + CELL, y + ROW);
      }
    }
    pen.globalAlpha = 0.3;
    for (let i = 0; i <= q; i++) pen.strokeRect(0, 2 * ROW * i - 1, canvas.width, 0);
    for (let j = 0; j <= k; j++) pen.strokeRect(2 * CELL * j - 1, 0, 0, canvas.height);
  }

  drawLines(canvas, head) {
    const { q, k } = this.numbers, pen = canvas.getContext("2d"), middle = (i) => 2 * ROW * (i + 1.5);
    pen.clearRect(0, 0, canvas.width, canvas.height);
    pen.strokeStyle = this.colour(head);
    for (let i = 0; i < q; i++) {
      for (let j = 0; j < k; j++) {
        const weight = this.weight(head, i, j);
        if (weight < 0.01 || this.faded(i, j)) continue;
        pen.lineWidth = 1 + 12 * weight;
        pen.globalAlpha = 0.15 + 0.85 * weight;
        pen.beginPath();
        pen.moveTo(0, middle(i));
        pen.lineTo(canvas.width, middle(j));
        pen.stroke();
      }
    }
  }
}
