/** Levels that no profile or budget has: the reader of YAML goes down by a call and more for each. */
const MOST_LEVELS = 100;

/** Quoted texts within a line, and brackets. */
const MARKS = /"(?:[^"\\]|\\.)*"|'[^']*'|[[\]{}]/g;
/** The indentation of a line, entries of lists within entries of lists included. */
const INDENTATION = /^ *(?:[-?] +)*/;

/** Whether YAML is nested more deeply than sensible, before a reader spends calls and memory on it. */
export function isTooDeep(text: string): boolean {
  const columns: number[] = [];
  let brackets = 0;
  for (const line of text.split("\n")) {
    const indentation = INDENTATION.exec(line)![0];
    for (const { index } of `${indentation}x`.matchAll(/\S/g)) {
      while (columns.length > 0 && columns.at(-1)! >= index) columns.pop();
      columns.push(index);
      if (columns.length > MOST_LEVELS) return true;
    }
    for (const [mark] of line.matchAll(MARKS)) {
      if (mark.length > 1) continue;
      brackets = Math.max(0, brackets + (mark === "[" || mark === "{" ? 1 : -1));
      if (brackets > MOST_LEVELS) return true;
    }
  }
  return false;
}
