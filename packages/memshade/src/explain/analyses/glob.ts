const patterns = new Map<string, RegExp>();

/** Converts a glob with `*` (any characters, including `/`) and `?` to a pattern for the whole text. */
export function globPattern(glob: string): RegExp {
  let pattern = patterns.get(glob);
  if (pattern === undefined) {
    const parts = glob
      .replace(/[.+^${}()|[\]\\]/g, String.raw`\$&`)
      .replace(/\*+/g, ".*")
      .replaceAll("?", ".");
    pattern = new RegExp(`^${parts}$`, "s");
    patterns.set(glob, pattern);
  }
  return pattern;
}
