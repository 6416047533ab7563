import { spawnSync } from "node:child_process";
import { realpathSync } from "node:fs";
import { attempt } from "../../ground/bytes/dispensable.ts";

/**
 * Returns the package of an installed file, on Debian and its derivatives; undefined on other systems, and
 * for files of no package.
 */
export function packageOf(path: string): string | undefined {
  // A link may belong to another package than its target: python3-minimal has the link to the file of
  // python3.11-minimal.
  const file = realPath(path);
  // A package may still have the old path of a folder that was moved below /usr.
  const names = file.startsWith("/usr/") ? [file, file.slice("/usr".length)] : [file, `/usr${file}`];
  const { stdout } = spawnSync("dpkg-query", ["--search", ...names], { encoding: "utf8" });
  return /^([^\s:,]+)(?::\w+)?: /m.exec(stdout ?? "")?.[1];
}

function realPath(path: string): string {
  return attempt(() => realpathSync(path), path);
}
