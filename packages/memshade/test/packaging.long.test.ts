import { spawnSync } from "node:child_process";
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import manifest from "../package.json" with { type: "json" };

const PACKAGE = fileURLToPath(new URL("..", import.meta.url));
const PROGRAM = join(PACKAGE, "test/fixtures/programs/kernels/bintree.wasm");
const require = createRequire(import.meta.url);
const isBuilt = existsSync(join(PACKAGE, "dist/index.d.ts"));
if (!isBuilt) console.warn("SKIPPED: the package is not built, nothing of it is installed elsewhere");

const USER = `
import { dump, exportProfile, instrument, profile, type ProfileResult } from "memshade";
import { Symbolizer, writeReportPage, writeRunFolder } from "memshade";
import { expectMemory, expectNoLeak } from "memshade/testing";
import { profileFiles, watchInstance, type WatchedInstance } from "memshade/loader";
import { FormatError, openObject, Unwinder } from "memshade/unwind";
export const used: unknown[] = [dump, exportProfile, instrument, profile, Symbolizer, writeReportPage, writeRunFolder];
export const inTests: unknown[] = [expectMemory, expectNoLeak];
export const inPages: unknown[] = [profileFiles, watchInstance];
export const ofStacks: unknown[] = [FormatError, openObject, Unwinder];
export type Results = ProfileResult<unknown> | WatchedInstance;
`;

const SETTINGS = {
  compilerOptions: {
    target: "es2023",
    module: "nodenext",
    strict: true,
    skipLibCheck: false,
    noEmit: true,
    exactOptionalPropertyTypes: true,
    lib: ["es2024", "dom"],
    types: ["node"],
  },
  files: ["user.ts"],
};

function installed(name: string): string {
  const [found] = (require.resolve.paths(name) ?? []).map((folder) => join(folder, name)).filter(existsSync);
  return found!;
}

describe.skipIf(!isBuilt)("the packed package, installed in an empty folder", () => {
  const folder = mkdtempSync(join(tmpdir(), "memshade-packed-"));
  const modules = join(folder, "node_modules");
  const command = join(modules, "memshade/bin/memshade.js");
  const run = (args: readonly string[]) =>
    spawnSync(process.execPath, args, { cwd: folder, encoding: "utf8", env: { PATH: process.env.PATH! } });
  let packed: { files: { path: string }[]; unpackedSize: number };

  beforeAll(() => {
    const { stdout } = spawnSync(
      "npm",
      ["pack", "--json", "--ignore-scripts", "--pack-destination", folder],
      { cwd: PACKAGE, encoding: "utf8" },
    );
    packed = Object.values(JSON.parse(stdout) as (typeof packed)[])[0]!;
    const [tarball] = globSync(join(folder, "*.tgz"));
    mkdirSync(join(modules, "@types"), { recursive: true });
    spawnSync("tar", ["-xzf", tarball!, "-C", modules]);
    spawnSync("mv", [join(modules, "package"), join(modules, "memshade")]);
    for (const name of [...Object.keys(manifest.dependencies), "@types/node", "undici-types"]) {
      mkdirSync(dirname(join(modules, name)), { recursive: true });
      symlinkSync(installed(name), join(modules, name));
    }
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(SETTINGS));
    writeFileSync(join(folder, "user.ts"), USER);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it("has few files", () => {
    const schemas = packed.files.filter(({ path }) => path.startsWith("dist/schemas/"));
    expect(schemas.map(({ path }) => path)).toContain("dist/schemas/memshade-report.json");
    expect(packed.files.length - schemas.length).toBeLessThanOrEqual(80);
    expect(packed.unpackedSize).toBeLessThanOrEqual(7_200_000);
  });

  it("has the notices of the packages whose code it contains", () => {
    const notices = readFileSync(join(modules, "memshade/THIRD-PARTY-NOTICES"), "utf8");
    // Packages bundled into the report page and into code for web pages, and one compiled into programs.
    for (const name of ["preact", "@noble/hashes", "assemblyscript"]) {
      const { version } = JSON.parse(readFileSync(join(installed(name), "package.json"), "utf8")) as {
        version: string;
      };
      expect(notices).toContain(`\n${name} ${version} (`);
    }
    expect(notices).toContain("Permission is hereby granted");
  });

  it("has a demo that runs in any folder and leaves its run where report finds it", () => {
    const { stdout, status } = run([command, "demo"]);
    expect(status).toBe(0);
    const [, ...found] = stdout.split("\n\n")[1]!.split("\n");
    const findings = found.filter((line) => /^ {2}\S/.test(line));
    // Five kinds of findings, each with its source line and its advice below.
    expect(new Set(findings.map((line) => line.trim().split(" ")[0])).size).toBe(5);
    for (const line of findings) {
      expect(line).toMatch(/\(shop\.c:\d+\)/);
      expect(found[found.indexOf(line) + 1]).toMatch(/^ {6}\d+ │ \S/);
      expect(found[found.indexOf(line) + 2]).toMatch(/^ {4}→ \S/);
    }
    expect(run([command, "report"]).stdout).toContain(`\nSummary\n${found[0]}`.slice(0, 20));
  });

  it("has types that a strict project compiles with", () => {
    const { stdout } = run([require.resolve("typescript/bin/tsc"), "-p", "."]);
    expect(stdout).toBe("");
  });

  it("has types for web pages without what needs files", () => {
    const inPage =
      'import * as memshade from "memshade";\nexport const used = [memshade.profile, memshade.dump];\n';
    writeFileSync(join(folder, "page.ts"), inPage);
    const compilerOptions = { ...SETTINGS.compilerOptions, customConditions: ["browser"] };
    writeFileSync(join(folder, "page.json"), JSON.stringify({ compilerOptions, files: ["page.ts"] }));
    const { stdout } = run([require.resolve("typescript/bin/tsc"), "-p", "page.json"]);
    expect(stdout.trim().split("\n")).toEqual([expect.stringContaining("'dump' does not exist")]);
  });

  it("can be imported", () => {
    expect(run(["user.ts"])).toMatchObject({ status: 0, stderr: "" });
  });

  it("brings the command", () => {
    expect(run([command, "--version"]).stdout).toBe(`${manifest.version}\n`);
    expect(run([command, "run", "--out", "run", PROGRAM, "5"])).toMatchObject({ status: 0 });
    expect(run([command, "top", "run"]).stdout).toContain("bytes");
  });

  it("shows no walls of its own code where the engine refuses what a program does", () => {
    writeFileSync(join(folder, "refused.js"), "new WebAssembly.Module(new Uint8Array(9));\n");
    const { status, stderr } = run([command, "node", "refused.js"]);
    expect([status, stderr]).toEqual([1, expect.stringContaining("CompileError")]);
    expect(Math.max(...stderr.split("\n").map((line) => line.length))).toBeLessThan(250);
  });
});
