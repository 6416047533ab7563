/** Bound on the nesting, above any profile or budget: the YAML parser recurses for each level. */
const MOST_LEVELS = 100;

const MARKS = /"(?:[^"\\]|\\.)*"|'[^']*'|[[\]{}]/g;
/** Indentation of a line, including the dashes of nested lists. */
const INDENTATION = /^ *(?:[-?] +)*/;

/** Returns true if YAML is nested too deeply for the recursive parser. */
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
