import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { newFolder } from "../cli/support/command-line.ts";
import { MAIN } from "../command.ts";

/** A folder for the documentation's commands: `npm` does nothing, and `memshade` and `npx memshade` run the sources. */
export function folderOfUser(): string {
  const cwd = newFolder();
  const bin = join(cwd, "bin");
  mkdirSync(bin);
  for (const [name, text] of [
    ["npm", "exit 0"],
    ["memshade", `exec "${process.execPath}" "${MAIN}" "$@"`],
    ["npx", `[ "$1" = memshade ] && shift && exec "${process.execPath}" "${MAIN}" "$@"`],
  ]) {
    writeFileSync(join(bin, name!), `#!/bin/sh\n${text}\n`);
    chmodSync(join(bin, name!), 0o755);
  }
  return cwd;
}

export function type(cwd: string, command: string, environment: Readonly<Record<string, string>> = {}) {
  const env = {
    ...process.env,
    PATH: `${join(cwd, "bin")}${delimiter}${process.env.PATH}`,
    NODE_OPTIONS: "",
    ...environment,
  };
  const { status, stdout, stderr } = spawnSync("bash", ["-eo", "pipefail", "-c", command], {
    cwd,
    env,
    encoding: "utf8",
  });
  return { status, stdout, stderr };
}
