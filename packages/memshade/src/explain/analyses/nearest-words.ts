/** The words whose names are most like a text first, each once. */
export function nearest(
  text: string,
  names: readonly { readonly word: string; readonly name: string }[],
): string[] {
  const near = names
    .map(({ word, name }) => ({ word, distance: distance(text, name) }))
    .sort((a, b) => a.distance - b.distance);
  return [...new Set(near.map(({ word }) => word))];
}

/** Letters to change, add and leave out; little where one is in the other. */
function distance(a: string, b: string): number {
  if (a.length > 2 && b.length > 2 && (a.includes(b) || b.includes(a))) return 1;
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++)
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)));
    row = next;
  }
  return row[b.length]!;
}
