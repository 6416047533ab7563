const known = new Map<string, RegExp>();

/** What a text has to look like that a glob with `*` (anything, `/` too) and `?` accepts as a whole. */
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
