/** Order of names as bytes of UTF-8, which is that of code points; JavaScript's own is not. */

/** What JavaScript puts in another order. */
const SURROGATE = /[\ud800-\udfff]/;

function byCodePoint(a: string, b: string): number {
  for (let i = 0; i < a.length && i < b.length;) {
    const [x, y] = [a.codePointAt(i)!, b.codePointAt(i)!];
    if (x !== y) return x - y;
    i += x > 0xffff ? 2 : 1;
  }
  return a.length - b.length;
}

/** Sorts in place. */
export function sortNames(names: string[]): string[] {
  return names.some((name) => SURROGATE.test(name)) ? names.sort(byCodePoint) : names.sort();
}
