import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { isSuitable } from "../../src/cli/node-version.ts";
import { npmModule } from "../names/symbolize/support.ts";
import { newFolder } from "./support/command-line.ts";

const inPackage = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const COMMAND = inPackage("bin/memshade.js");
const MODULE = npmModule("node_modules/web-tree-sitter/debug/web-tree-sitter.wasm")!;
const isBuilt = existsSync(inPackage("dist/main.js"));
if (!isBuilt) console.warn("SKIPPED: the command is not built");

function run(args: readonly string[], environment: Readonly<Record<string, string>> = {}): string {
  const { stdout, stderr } = spawnSync(process.execPath, [COMMAND, ...args], {
    encoding: "utf8",
    env: { PATH: process.env.PATH!, ...environment },
  });
  return stdout + stderr;
}

/** A Node on this machine that is too old to run instrumented programs. */
const oldNode = [...process.env.PATH!.split(delimiter), "/usr/bin", "/usr/local/bin"]
  .map((folder) => join(folder, "node"))
  .find((node) => existsSync(node) && !isSuitable(versionOf(node)));
if (oldNode === undefined) console.warn("SKIPPED: no old Node on this machine");

function versionOf(node: string): string {
  return spawnSync(node, ["--version"], { encoding: "utf8" }).stdout.trim().slice(1);
}

/** Installs the built package in a folder with its dependencies only. */
function installAlone(): string {
  const folder = newFolder();
  for (const part of ["bin", "dist", "package.json"])
    cpSync(inPackage(part), join(folder, part), { recursive: true });
  const { dependencies } = JSON.parse(readFileSync(inPackage("package.json"), "utf8"));
  for (const name of Object.keys(dependencies)) {
    const link = join(folder, "node_modules", name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(inPackage(`../../node_modules/${name}`), link);
  }
  return folder;
}

describe.skipIf(!isBuilt || oldNode === undefined)("started by a Node that is too old", () => {
  const start = (args: readonly string[]) => {
    const { stdout, stderr, status, signal } = spawnSync(oldNode!, args, {
      cwd: newFolder(),
      encoding: "utf8",
    });
    return { stdout, stderr, status, signal };
  };

  it("goes on with a suitable one that is installed beside it, and ends as that ends", () => {
    const folder = installAlone();
    mkdirSync(join(folder, "node_modules/.bin"));
    symlinkSync(process.execPath, join(folder, "node_modules/.bin/node"));
    const script = join(newFolder(), "script.cjs");
    writeFileSync(script, "console.log(process.version, process.argv[2]); process.exitCode = 7;");
    const dying = join(newFolder(), "dying.cjs");
    writeFileSync(dying, 'process.kill(process.pid, "SIGTERM"); setInterval(() => {}, 1000);');
    for (const command of ["bin/memshade.js", "dist/main.js"]) {
      const memshade = join(folder, command);
      expect(start([memshade, "node", script, "two words"])).toMatchObject({
        stdout: `${process.version} two words\n`,
        status: 7,
      });
      expect(start([memshade, "node", dying])).toMatchObject({ signal: "SIGTERM" });
    }
  });

  it("says what to install where there is none", () => {
    const folder = installAlone();
    for (const command of ["bin/memshade.js", "dist/main.js"])
      expect(start([join(folder, command), "report"])).toEqual({
        stdout: "",
        stderr: expect.stringMatching(
          /^memshade: Node 22\.15 or newer is needed, this is [\d.]+: install one beside memshade with: npm install node\S*@24\n$/,
        ),
        status: 2,
        signal: null,
      });
  });
});

describe.skipIf(!isBuilt)("the command that is installed", () => {
  it.each(["--version", "-V"])("tells the package's version: %s", (option) => {
    expect(run([option])).toBe(`${JSON.parse(readFileSync(inPackage("package.json"), "utf8")).version}\n`);
  });

  it("gives the same answer with what Node kept of it, and where nothing can be kept", () => {
    const answer = "ts_range_edit\n/src/lib/src/./get_changed_ranges.c:125:67\n\n";
    const symbolize = (environment: Readonly<Record<string, string>>) =>
      run(["symbolize", "-e", MODULE, "0x1000"], environment);
    const folder = newFolder();
    writeFileSync(join(folder, "file"), "");
    expect(symbolize({ NODE_COMPILE_CACHE: join(folder, "kept") })).toBe(answer);
    expect(symbolize({ NODE_COMPILE_CACHE: join(folder, "kept") })).toBe(answer);
    expect(symbolize({ NODE_COMPILE_CACHE: join(folder, "file") })).toBe(answer);
    expect(symbolize({ NODE_DISABLE_COMPILE_CACHE: "1" })).toBe(answer);
  });
});
