import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Cost of a command: processor time, user and system, with children, and the largest process. */
export interface Cost {
  seconds: number;
  mebibytes: number;
  output: string;
}

/**
 * Runs a command in a new folder. Needs `/usr/bin/time` (GNU).
 * @param launcher a command that starts the measured one; its own cost is excluded
 */
export function costOf(command: readonly string[], input?: string, launcher: readonly string[] = []): Cost {
  const folder = mkdtempSync(join(tmpdir(), "whole-command-"));
  try {
    const figures = join(folder, "time");
    const [first, ...rest] = [...launcher, "/usr/bin/time", "-o", figures, "-f", "%U %S %M", ...command];
    const { stdout, stderr, status } = spawnSync(first, rest, {
      encoding: "utf8",
      cwd: folder,
      maxBuffer: 1 << 28,
      input,
    });
    if (status !== 0) throw new Error(`${command.join(" ")} failed: ${stderr}`);
    const [user, system, kibibytes] = readFileSync(figures, "utf8").trim().split(" ").map(Number);
    return { seconds: user + system, mebibytes: kibibytes / 1024, output: stdout };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
