import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { newFolder } from "../cli/support/command-line.ts";

/** A folder in which commands of the documentation are typed: `npm` does nothing, and `npx memshade` runs the sources. */
export function folderOfUser(): string {
  const cwd = newFolder();
  const bin = join(cwd, "bin");
  mkdirSync(bin);
  const main = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
  for (const [name, text] of [
    ["npm", "exit 0"],
    ["npx", `[ "$1" = memshade ] && shift && exec "${process.execPath}" "${main}" "$@"`],
  ]) {
    writeFileSync(join(bin, name!), `#!/bin/sh\n${text}\n`);
    chmodSync(join(bin, name!), 0o755);
  }
  return cwd;
}

/** Runs a command line in such a folder. */
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
