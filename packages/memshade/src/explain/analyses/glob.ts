const known = new Map<string, RegExp>();

/** Converts a glob with `*` (any characters, including `/`) and `?` to a pattern for the whole text. */
export function globPattern(glob: string): RegExp {
  let pattern = known.get(glob);
  if (pattern === undefined) {
    const parts = glob
      .replace(/[.+^${}()|[\]\\]/g, String.raw`\$&`)
      .replace(/\*+/g, ".*")
      .replaceAll("?", ".");
    pattern = new RegExp(`^${parts}$`, "s");
    known.set(glob, pattern);
  }
  return pattern;
}
