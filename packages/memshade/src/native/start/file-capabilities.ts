import { spawnSync } from "node:child_process";
import { realpathSync } from "node:fs";

/** Where the tool of libcap is, in PATH or not: what users do not need as a rule is not in theirs. */
const TOOLS = ["getcap", "/usr/sbin/getcap", "/sbin/getcap"];

/**
 * Capabilities that a program gets from its file, as `cap_net_raw=ep`; undefined where it has none, or nobody can say: Node reads no
 * extended attributes, and machines without this tool have no program that was given any there.
 */
export function fileCapabilities(file: string): string | undefined {
  const path = realpathSync(file);
  for (const tool of TOOLS) {
    const { status, stdout } = spawnSync(tool, [path], { encoding: "utf8" });
    if (status !== 0) continue;
    // `FILE cap_net_raw=ep`; older ones write `FILE = cap_net_raw+ep`.
    return stdout.startsWith(path)
      ? stdout.slice(path.length).trim().replace(/^= /, "") || undefined
      : undefined;
  }
  return undefined;
}
