/** One plot as SVG: values over cycles, with the cycles that did not hold marked. */

export interface Series {
  name: string;
  /** Pairs of cycle and value. */
  points: readonly (readonly [number, number])[];
}

export interface PlotOptions {
  title: string;
  /** What a value is, and how it is written. */
  unit: string;
  series: readonly Series[];
  cycles: number;
  /** Cycles that did not hold. */
  marks: readonly number[];
}

const WIDTH = 400;
const HEIGHT = 210;
const LEFT = 46;
const RIGHT = 10;
const TOP = 10;
const BOTTOM = 26;
const GRID_LINES = 4;

/** Text that stands for itself in HTML. */
export function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

/** A round number not below `value`: 1, 2, 2.5 or 5 times a power of ten. */
export function niceCeiling(value: number): number {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((step) => step >= value)!;
}

function number(value: number): string {
  return String(Number(value.toPrecision(3)));
}

/** The figure: caption, plot, legend where there is more than one series. */
export function plot(options: PlotOptions): string {
  const { title, unit, series, cycles, marks } = options;
  const top = niceCeiling(Math.max(...series.flatMap(({ points }) => points.map(([, y]) => y)), 0));
  const x = (cycle: number) =>
    LEFT + (WIDTH - LEFT - RIGHT) * (cycles <= 1 ? 0.5 : (cycle - 1) / (cycles - 1));
  const y = (value: number) => HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / top;
  const parts: string[] = [];
  for (let line = 0; line <= GRID_LINES; line++) {
    const value = top * line / GRID_LINES;
    const at = y(value).toFixed(1);
    parts.push(
      `<line class="grid" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${at}" y2="${at}"/>`,
      `<text class="label" x="${LEFT - 6}" y="${at}" dy="4" text-anchor="end">${
        number(value)
      }</text>`,
    );
  }
  const ends = cycles <= 1 ? [1] : [1, Math.ceil(cycles / 2), cycles];
  for (const cycle of new Set(ends)) {
    const anchor = cycle === 1 && cycles > 1 ? "start" : cycle === cycles ? "end" : "middle";
    parts.push(
      `<text class="label" x="${x(cycle).toFixed(1)}" y="${HEIGHT - 8}" ` +
        `text-anchor="${anchor}">${cycle}</text>`,
    );
  }
  for (const cycle of marks) {
    const at = x(cycle).toFixed(1);
    parts.push(
      `<g class="mark"><line x1="${at}" x2="${at}" y1="${TOP}" y2="${HEIGHT - BOTTOM}"/>` +
        `<title>cycle ${cycle} did not hold</title></g>`,
    );
  }
  for (const [index, { name, points }] of series.entries()) {
    const line = points.map(([cycle, value]) => `${x(cycle).toFixed(1)},${y(value).toFixed(1)}`);
    parts.push(`<polyline class="line s${index}" points="${line.join(" ")}"/>`);
    for (const [cycle, value] of points) {
      parts.push(
        `<circle class="dot s${index}" cx="${x(cycle).toFixed(1)}" cy="${y(value).toFixed(1)}" ` +
          `r="2.2"><title>cycle ${cycle}, ${escapeHtml(name)}: ${number(value)} ` +
          `${escapeHtml(unit)}</title></circle>`,
      );
    }
  }
  const legend = series.length < 2
    ? ""
    : `<p class="legend">${
      series.map(({ name }, index) => `<span class="key s${index}"></span>${escapeHtml(name)}`)
        .join(" ")
    }</p>`;
  return `<figure><figcaption>${escapeHtml(title)} <span>${escapeHtml(unit)}</span></figcaption>` +
    `<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${escapeHtml(title)}">` +
    `${parts.join("")}</svg>${legend}</figure>`;
}
