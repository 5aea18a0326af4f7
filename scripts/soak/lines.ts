/**
 * Output that shows by itself whether it is whole: lines `n check`, counted from 1, where the
 * check follows from n.
 */

const FACTOR = 48271;
const MODULUS = 2147483647;

/**
 * A Perl program that prints such lines for ever, each also to the end of a file.
 * Arguments: the file, and seconds between two lines.
 */
export const COUNTER = `
  open my $file, ">>", $ARGV[0] or die;
  for (my $n = 1;; $n++) {
    my $line = sprintf "%d %d\\n", $n, $n * ${FACTOR} % ${MODULUS};
    syswrite $file, $line;
    syswrite STDOUT, $line;
    select undef, undef, undef, $ARGV[1];
  }
`;

export interface LineCheck {
  /** Numbers of the first and the last whole line; 0 when there is none. */
  first: number;
  last: number;
  /** What is wrong, or undefined. */
  problem?: string;
}

function lineOf(n: number): string {
  return `${n} ${Number(BigInt(n) * BigInt(FACTOR) % BigInt(MODULUS))}`;
}

/**
 * Checks that every line is right and follows the one before.
 *
 * @param joined the text begins somewhere, perhaps within a line; otherwise with line 1
 */
export function checkLines(text: string, joined: boolean): LineCheck {
  // What follows the last newline is a line under way.
  const lines = text.split("\n").slice(0, -1);
  if (joined && lines.length > 0 && lines[0] !== lineOf(parseInt(lines[0]!) || 0)) lines.shift();
  const first = joined ? parseInt(lines[0] ?? "0") : 1;
  for (const [index, line] of lines.entries()) {
    const expected = lineOf(first + index);
    if (line !== expected) {
      return {
        first,
        last: first + index - 1,
        problem: `line ${first + index} reads '${line.slice(0, 60)}' instead of '${expected}'`,
      };
    }
  }
  return lines.length === 0 ? { first: 0, last: 0 } : { first, last: first + lines.length - 1 };
}
