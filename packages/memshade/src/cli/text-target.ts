import { spawnSync } from "node:child_process";
import { isatty } from "node:tty";
import type { TextTarget } from "../show/report/terminal/common/columns.ts";

/** Returns what a descriptor is, without opening Node's stream of it: that would make a pipe non-blocking for all who share it. */
export function targetOf(descriptor: 1 | 2): TextTarget {
  if (!isatty(descriptor)) return { isTerminal: false };
  const { stdout } = spawnSync("stty", ["size"], { stdio: [descriptor, "pipe", "ignore"], encoding: "utf8" });
  const columns = Number(/ (\d+)/.exec(stdout ?? "")?.[1]);
  return { isTerminal: true, columns: columns > 0 ? columns : undefined };
}
