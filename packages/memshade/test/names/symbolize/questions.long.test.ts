import { spawnSync } from "node:child_process";
import { mkdirSync, renameSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { openObject } from "../../../src/code/objects/index.ts";
import { fileSource } from "../../../src/names/load/file.ts";
import { MAIN } from "../../command.ts";
import { isInstalled, LLVM_SYMBOLIZER, sh, temporaryFolder } from "./support.ts";

const installed = isInstalled(LLVM_SYMBOLIZER, "clang-22", "gcc");
if (!installed) console.warn("SKIPPED: questions are not compared with what llvm-symbolizer-22 answers");

const ours = (args: readonly string[], input: string) =>
  printed(process.execPath, [MAIN, "symbolize", ...args], input);
const theirs = (args: readonly string[], input: string) => printed(LLVM_SYMBOLIZER, args, input);

function printed(command: string, args: readonly string[], input: string): string[] {
  const { stdout } = spawnSync(command, args, { input, encoding: "utf8", cwd: temporaryFolder() });
  return stdout.split("\n");
}

function built(name: string, command: string): string {
  sh(`${command} -nostdlib -nostartfiles -Wl,-e,main -Wl,--build-id=sha1 "$P/variables.c" -o ${name}`);
  return name;
}

const BUILDS = {
  "clang, without optimization": "clang-22 -g -O0",
  "clang, optimized": "clang-22 -g -O2",
  "clang, DWARF 4": "clang-22 -g -gdwarf-4 -O1",
  "gcc, without optimization": "gcc -g -O0",
  "gcc, optimized": "gcc -g -O2",
  "gcc, DWARF 4": "gcc -g -gdwarf-4 -O1",
};

describe.skipIf(!installed)("variables are told as llvm-symbolizer tells them", () => {
  for (const [name, command] of Object.entries(BUILDS))
    it(name, () => {
      const file = built("variables", command);
      const { sections } = openObject(fileSource(path.join(temporaryFolder(), file)));
      const places = (sectionNames: readonly string[], step: number) =>
        sections
          .filter((section) => sectionNames.includes(section.name))
          .flatMap(({ address, size }) =>
            Array.from(
              { length: Math.ceil(size / step) },
              (_, at) => `0x${(address + at * step).toString(16)}`,
            ),
          );
      const questions = [
        ...places([".text"], 5).map((place) => `FRAME ${place}`),
        ...places([".data", ".bss", ".rodata"], 2).map((place) => `DATA ${place}`),
      ];
      expect(questions.length).toBeGreaterThan(80);
      for (const style of ["LLVM", "JSON"]) {
        const args = ["--obj", file, `--output-style=${style}`];
        expect(ours(args, questions.join("\n"))).toEqual(theirs(args, questions.join("\n")));
      }
    });
});

describe.skipIf(!installed)("lines of input are read as llvm-symbolizer reads them", () => {
  const QUESTIONS = [
    "main",
    "main+4",
    "main+0x10",
    "main+9999",
    "main +4",
    "counter",
    "nothing+1",
    "main+",
    "+4",
    "main+zz",
    "DATA counter",
    "FRAME main",
    "CODE main",
    "SYMBOL main",
    "CODE",
    "CODE ",
    "DATA",
    "0x10 0x20",
    "0xzz",
    "FILE:program main",
    "BUILDID:abcd 0x10",
    "  main",
    "0",
    "",
  ];
  const WITH_FILES = [
    "program main",
    "FILE:program main",
    "FILE: program main+4",
    "'program' main",
    '"program" main',
    "FILE:'program' main",
    "CODE FILE:program main",
    "DATA program counter",
    "FILE:FILE:program 1",
    "'program main",
    "program",
    "BUILDID:xyz 1",
    "BUILDID:abc 1",
    "BUILDID:abcd 1",
    "absent 1",
    "FILE:absent main",
    "BUILDID:program main",
  ];

  for (const style of ["LLVM", "JSON", "GNU"])
    it(`with and without a file, ${style}`, () => {
      built("program", BUILDS["clang, optimized"]);
      const option = `--output-style=${style}`;
      const within = ["--obj", "program", option];
      expect(ours(within, QUESTIONS.join("\n"))).toEqual(theirs(within, QUESTIONS.join("\n")));
      expect(ours([option], WITH_FILES.join("\n"))).toEqual(theirs([option], WITH_FILES.join("\n")));
    });

  it("finds objects by build id", () => {
    const file = path.join(temporaryFolder(), built("identified", BUILDS["clang, optimized"]));
    const { buildId } = openObject(fileSource(file));
    const folder = path.join(temporaryFolder(), "ids/.build-id", buildId!.slice(0, 2));
    mkdirSync(folder, { recursive: true });
    renameSync(file, path.join(folder, `${buildId!.slice(2)}.debug`));
    const places = ["--debug-file-directory=ids", "--output-style=JSON"];
    const byOption = [`--build-id=${buildId}`, ...places];
    expect(ours(byOption, "main+4\nDATA 0x10\n")).toEqual(theirs(byOption, "main+4\nDATA 0x10\n"));
    const line = `BUILDID:${buildId} main\n`;
    expect(ours(places, line)).toEqual(theirs(places, line));
    expect(ours(places, line).join("")).toContain("variables.c");
  });

  it("says in one line what is wrong with a build id", () => {
    for (const args of [["--build-id=abx"], ["--build-id=abcd"], ["--build-id=abcd", "--obj=program"]]) {
      const { status, stderr } = spawnSync(process.execPath, [MAIN, "symbolize", ...args, "0"], {
        encoding: "utf8",
      });
      expect({ status, lines: stderr.trim().split("\n").length }).toEqual({ status: 2, lines: 1 });
    }
  });
});
