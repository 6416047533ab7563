/** Returns words whose names resemble a mistyped text, without duplicates, the most similar first. */
export function nearest(
  text: string,
  names: readonly { readonly word: string; readonly name: string }[],
): string[] {
  const near = names
    .map(({ word, name }) => ({ word, name, distance: distance(text, name) }))
    .filter(({ name, distance }) => distance <= mostMistakes(text, name))
    .sort((a, b) => a.distance - b.distance);
  return [...new Set(near.map(({ word }) => word))];
}

/** Returns the maximum distance of similar words: one of three letters. */
function mostMistakes(text: string, name: string): number {
  return Math.max(1, Math.floor(Math.min(text.length, name.length) / 3));
}

/** Returns the edit distance, or 1 if one text contains the other. */
function distance(a: string, b: string): number {
  return a.length > 2 && b.length > 2 && (a.includes(b) || b.includes(a)) ? 1 : editDistance(a, b);
}

/** Returns the number of letters that are inserted, removed or replaced to get from one text to the other. */
export function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++)
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)));
    row = next;
  }
  return row[b.length]!;
}

export function likeIt(near: readonly string[]): string {
  return near.length === 0 ? "" : `; most like it ${near.length === 1 ? "is" : "are"} ${near.join(", ")}`;
}
