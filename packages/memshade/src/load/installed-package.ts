import { spawnSync } from "node:child_process";

/** The package that an installed file is of, on Debian and what comes from it; undefined elsewhere, and where it is of none. */
export function packageOf(file: string): string | undefined {
  // Of a folder that has moved below /usr, packages may still have the old name.
  const names = file.startsWith("/usr/") ? [file, file.slice("/usr".length)] : [file, `/usr${file}`];
  for (const name of names) {
    const { stdout } = spawnSync("dpkg-query", ["--search", name], { encoding: "utf8" });
    const found = /^([^\s:,]+)(?::\w+)?: /m.exec(stdout ?? "");
    if (found !== null) return found[1];
  }
  return undefined;
}
