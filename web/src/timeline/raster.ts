/* Rows of blocks as pixels. Each block is added to the pixels that it covers, and a pixel shows the
 * colour of what fills most of it, the paler the less of it is filled: the picture is right however
 * many blocks share a pixel, and takes the same few milliseconds. */
import { firstFrom, Row } from "./data.ts";
import { View } from "./view.ts";

const FAINTEST = 0.3;
/* Pixels: wider blocks end with a lighter one, so that neighbors stay apart. */
const SEPARATED_FROM = 4;

/* Of [0, 255] each. */
export type Rgb = readonly [number, number, number];

export function parseColor(text: string): Rgb {
  const hex = text.trim().replace(/^#/, "");
  const full = hex.length === 3 ? hex.replace(/./g, "$&$&") : hex;
  const number = Number.parseInt(full.slice(0, 6), 16);
  return Number.isNaN(number)
    ? [128, 128, 128]
    : [(number >> 16) & 255, (number >> 8) & 255, number & 255];
}

/* As it lies in the memory of an ImageData on a little-endian machine. */
export function pixelOf([red, green, blue]: Rgb): number {
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

function blend(color: number, back: number, share: number): number {
  const red = (color & 255) * share + (back & 255) * (1 - share);
  const green = ((color >> 8) & 255) * share + ((back >> 8) & 255) * (1 - share);
  const blue = ((color >> 16) & 255) * share + ((back >> 16) & 255) * (1 - share);
  return (
    ((255 << 24) | (Math.round(blue) << 16) | (Math.round(green) << 8) | Math.round(red)) >>> 0
  );
}

export class RowPainter {
  private cover = new Float32Array(0);
  private most = new Float32Array(0);
  private color = new Uint32Array(0);
  line = new Uint32Array(0);

  setWidth(width: number): void {
    if (this.line.length === width) return;
    this.cover = new Float32Array(width);
    this.most = new Float32Array(width);
    this.color = new Uint32Array(width);
    this.line = new Uint32Array(width);
  }

  private add(pixel: number, share: number, color: number): void {
    this.cover[pixel]! += share;
    if (share > this.most[pixel]!) {
      this.most[pixel] = share;
      this.color[pixel] = color;
    }
  }

  private addBlock(from: number, to: number, share: number, color: number): void {
    const width = this.line.length;
    const left = Math.max(from, 0);
    const right = Math.min(to, width);
    const first = Math.floor(left);
    const last = Math.min(Math.floor(right), width - 1);
    if (first >= width || right < 0) return;
    if (first === last) {
      this.add(first, Math.max(right - left, 0.02) * share, color);
      return;
    }
    this.add(first, (first + 1 - left) * share, color);
    for (let pixel = first + 1; pixel < last; pixel++) {
      this.cover[pixel] = share;
      this.most[pixel] = share;
      this.color[pixel] = color;
    }
    const isSeparated = to - from >= SEPARATED_FROM && to < width;
    this.add(last, (right - last) * share * (isSeparated ? 0.5 : 1), color);
    if (isSeparated && last > first + 1) this.cover[last - 1] = share * 0.72;
  }

  /* Fills `line` with the pixels of the row. `colors` by label. */
  paint(row: Row, view: View, colors: Uint32Array, back: number): void {
    const width = this.line.length;
    const scale = width / (view.end - view.start);
    const { start, end, filled, label, events } = row;
    this.cover.fill(0);
    this.most.fill(0);
    for (
      let i = Math.max(firstFrom(row, view.start) - 1, 0);
      i < row.count && start[i]! < view.end;
      i++
    ) {
      if (end[i]! < view.start) continue;
      const length = end[i]! - start[i]!;
      const share = events[i]! > 1 && length > 0 ? Math.min(filled[i]! / length, 1) : 1;
      this.addBlock(
        (start[i]! - view.start) * scale,
        (end[i]! - view.start) * scale,
        share,
        colors[label[i]!]!,
      );
    }
    for (let pixel = 0; pixel < width; pixel++) {
      const cover = this.cover[pixel]!;
      if (cover <= 0) this.line[pixel] = back;
      else if (cover >= 0.995) this.line[pixel] = this.color[pixel]!;
      else this.line[pixel] = blend(this.color[pixel]!, back, Math.max(cover, FAINTEST));
    }
  }
}
