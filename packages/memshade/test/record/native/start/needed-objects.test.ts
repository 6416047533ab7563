import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, relative } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { checkProgram, fileCapabilities } from "../../../../src/record/native/start/check-program.ts";
import { neededObjects } from "../../../../src/record/native/start/needed-objects.ts";
import { canCompile } from "../support/record.ts";

describe.skipIf(!canCompile)("a program with libraries", () => {
  const folder = mkdtempSync(join(tmpdir(), "memshade-needed-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  const [library, program] = [join(folder, "libneeded.so"), join(folder, "program")];

  function compile(rpath: string): void {
    writeFileSync(join(folder, "library.c"), "int needed(void) { return 7; }\n");
    writeFileSync(join(folder, "program.c"), "int needed(void);\nint main(void) { return needed(); }\n");
    for (const options of [
      ["-shared", "-fPIC", "library.c", "-o", library],
      ["program.c", "-o", program, library, `-Wl,-rpath,${rpath}`],
    ])
      expect(spawnSync("gcc", options, { cwd: folder, encoding: "utf8" })).toMatchObject({ status: 0 });
  }

  it("begins with what its dynamic linker finds for it", () => {
    compile("$ORIGIN");
    const names = neededObjects(checkProgram(program)).map(({ path }) => basename(path));
    expect(names).toEqual(expect.arrayContaining(["program", "libneeded.so", "libc.so.6"]));
  });

  it("has those of relative folders by their whole paths", () => {
    compile(relative(process.cwd(), folder));
    const needed = neededObjects(checkProgram(program)).map(({ path }) => path);
    expect(needed).toContain(library);
  });

  it("is refused in the dynamic linker's words where that would not start it", () => {
    compile("$ORIGIN");
    rmSync(library);
    expect(() => neededObjects(checkProgram(program))).toThrow(
      /program: error while loading shared libraries: \S*libneeded\.so: cannot open shared object file/,
    );
  });

  const canGive = spawnSync("setcap", ["-q", "cap_net_raw+ep", program]).error === undefined;
  if (!canGive) console.warn("SKIPPED: setcap is not installed: no program has file capabilities");
  it.skipIf(!canGive || process.getuid?.() !== 0)("has the capabilities that its file was given", () => {
    compile("$ORIGIN");
    expect(fileCapabilities(program)).toBeUndefined();
    expect(spawnSync("setcap", ["cap_net_raw+ep", program]).status).toBe(0);
    expect(fileCapabilities(program)).toMatch(/^cap_net_raw[=+]ep$/);
  });
});
