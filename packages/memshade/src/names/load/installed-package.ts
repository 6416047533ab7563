import { spawnSync } from "node:child_process";
import { realpathSync } from "node:fs";

/** The package that an installed file is of, on Debian and what comes from it; undefined elsewhere, and where it is of none. */
export function packageOf(path: string): string | undefined {
  // A link to it may be another package's: python3-minimal has the link to what python3.11-minimal has.
  const file = realPath(path);
  // Of a folder that has moved below /usr, packages may still have the old name.
  const names = file.startsWith("/usr/") ? [file, file.slice("/usr".length)] : [file, `/usr${file}`];
  for (const name of names) {
    const { stdout } = spawnSync("dpkg-query", ["--search", name], { encoding: "utf8" });
    const found = /^([^\s:,]+)(?::\w+)?: /m.exec(stdout ?? "");
    if (found !== null) return found[1];
  }
  return undefined;
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
