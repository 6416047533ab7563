import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { folderOfUser, type } from "./as-typed.ts";

const pathOf = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const GUIDES = pathOf("../../../../docs/guides/");

/** Guides that open pages of other servers have their own tests, with a server. */
const OPENS_PAGES = /memshade browser|playwright/;
const OF_NATIVE_PROGRAMS = /\.\/program\b(?!\.)/;
const NATIVE_PROGRAM = "/bin/ls";
const canRunNative = process.platform === "linux" && process.arch === "x64" && existsSync(NATIVE_PROGRAM);
if (!canRunNative)
  console.warn(`SKIPPED: ${NATIVE_PROGRAM} of x86-64 Linux is not there: no native program is recorded`);
/** The run comes from a test suite, which has its own test. */
const OF_A_SUITE = "playwright-tests.md";

/** Programs of guides, in files next to them: C for gcc, and scripts. */
const PROGRAMS = ["chat.c", "words.c", "orders.py", "orders.pl"];
const PROGRAMS_RUN = /^gcc |orders\./;
const NEEDS: readonly (readonly [RegExp, string])[] = [
  [/^gcc /, "gcc"],
  [/\bpython3 /, "python3"],
  [/\bperl /, "perl"],
];
const missing = NEEDS.filter(([, program]) => spawnSync(program, ["--version"]).status !== 0);
for (const [, program] of missing)
  console.warn(`SKIPPED: guides that need ${program}, which is not installed`);

/** The guide builds a program, whose compiler may be missing. */
const BUILDS = "hints-for-the-compiler.md";
const CATALOGUE = `${GUIDES}catalogue.cpp`;

function commandsOf(guide: string): string[] {
  const text = readFileSync(`${GUIDES}${guide}`, "utf8");
  return [...text.matchAll(/^```sh\n(.*?)^```$/gms)]
    .flatMap(([, block]) => block!.replaceAll("\\\n", " ").trim().split("\n"))
    .map((line) => line.replace(/\s+#.*$/, "").replace(" --open", ""))
    .filter((line) => line !== "" && !OPENS_PAGES.test(line))
    .filter((line) => canRunNative || !OF_NATIVE_PROGRAMS.test(line));
}

const guides = readdirSync(GUIDES).filter(
  (guide) =>
    ![OF_A_SUITE, BUILDS].includes(guide) &&
    guide.endsWith(".md") &&
    commandsOf(guide).length > 0 &&
    commandsOf(guide).every((line) => missing.every(([pattern]) => !pattern.test(line))) &&
    (canRunNative || !commandsOf(guide).some((line) => PROGRAMS_RUN.test(line))),
);

describe("the commands of a guide do what they are there for, typed one after the other", () => {
  it.each(guides)("%s", (guide) => {
    const cwd = folderOfUser();
    for (const name of ["program.wasm", "app.wasm"])
      copyFileSync(pathOf("../../demo/shop.wasm"), join(cwd, name));
    for (const name of PROGRAMS) copyFileSync(`${GUIDES}${name}`, join(cwd, name));
    if (canRunNative) copyFileSync(NATIVE_PROGRAM, join(cwd, "program"));
    writeFileSync(join(cwd, "package.json"), '{ "type": "module" }');
    writeFileSync(
      join(cwd, "script.js"),
      `import { readFileSync } from "node:fs";
import { WASI } from "node:wasi";
const wasi = new WASI({ version: "preview1" });
const { instance } = await WebAssembly.instantiate(readFileSync("program.wasm"), wasi.getImportObject());
wasi.start(instance);
`,
    );
    // The run that a page or another host would provide.
    type(cwd, "npx memshade run --out FOLDER app.wasm");
    for (const command of commandsOf(guide)) {
      const { status, stdout, stderr } = type(cwd, command);
      expect({ command, status, stderr: status === 0 ? "" : stderr }).toEqual({
        command,
        status: 0,
        stderr: "",
      });
      if (!/^(?:gcc|export) /.test(command)) expect(`${stdout}${stderr}`.length, command).toBeGreaterThan(50);
    }
  });
});

const compiler = spawnSync("clang++-22", ["--version"]);
const merger = spawnSync("llvm-profdata-22", ["--version"]);
const hasCompiler = compiler.status === 0 && merger.status === 0;
if (!hasCompiler) console.warn("SKIPPED: hints for the compiler need clang++-22 and llvm-profdata-22");

describe.skipIf(!hasCompiler)("a program that was built with what memshade has recorded", () => {
  it("has its cold blocks elsewhere, and does what it did", () => {
    const cwd = folderOfUser();
    copyFileSync(CATALOGUE, join(cwd, "catalogue.cpp"));
    const answers = commandsOf(BUILDS).map((command) => ({ command, ...type(cwd, command) }));
    expect(answers.filter(({ status }) => status !== 0)).toEqual([]);
    const { stdout } = answers.at(-1)!;
    expect(stdout).toMatch(/new {2}operator new \(catalogue\.cpp:\d+\)/);
    expect(stdout).toMatch(/gone {2}makeText \(catalogue\.cpp:\d+\)/);
    expect(stdout).toMatch(/-50\.0 % {2}BLOCKS/);
    expect(type(cwd, "./plain").stdout).toBe(type(cwd, "./hinted").stdout);
  });
});
