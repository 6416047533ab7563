import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { Run } from "../../../../src/profile/model/run.ts";
import { REFUSED } from "../../../../src/record/native/start/launcher.ts";
import { sharedPath } from "../../../shared-path.ts";
import { canCompile, compileProgram, memshadeRun, runIn } from "../support/record.ts";

const hasNamespaces = spawnSync("unshare", ["--mount", "true"]).status === 0;
if (canCompile && !hasNamespaces)
  console.warn("SKIPPED: there are no mount namespaces here: no rewritten program is started");
const hasGathers = readFileSync("/proc/cpuinfo", "utf8").includes(" avx2");
const outside = sharedPath("fixtures/outside/native");
const HAS_READ =
  /^memshade: the program has read its own code as data \(program\), .* may be wrong; the next run leaves this file unchanged\n$/;
const READS_CODE = /^memshade: the program reads or changes its own code through the system, .*--tool.*\n$/;
const REPLACES_CODE = /^memshade: the program maps other memory over its own code\. .*--tool.*\n$/;
const CHANGES_CODE = /^memshade: the program makes its own code writable\. .*--tool.*\n$/;

describe.skipIf(!canCompile || !hasNamespaces)("a rewritten program that uses its code as data", () => {
  const folder = mkdtempSync(join(tmpdir(), "memshade-code-"));
  const program = join(folder, "program");
  afterAll(() => rmSync(folder, { recursive: true }));
  const run = (tool: string, ...args: string[]) =>
    memshadeRun(folder, ["--quiet", "--tool", tool, "--out", join(folder, "out"), program, ...args]);

  it.each([
    ["heap", "-O0"],
    ["heap", "-O2"],
    ["waste", "-O1"],
    ["workingset", "-O1"],
  ])("finds what stands behind its calls, and its own instructions (%s, %s)", (tool, level) => {
    compileProgram("../rewritten/programs/code-as-data.c", program, [level]);
    const alone = spawnSync(program, { encoding: "utf8" });
    expect(alone.stdout).toMatch(/^1122334455667788 7 2\n/);
    const { status, stdout, stderr } = run(tool);
    expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: alone.stdout, stderr: "" });
  });

  it.each([
    ["heap", "xlat"],
    ["waste", "pop"],
    ["heap", "moved"],
    ["workingset", "gather"],
  ])("finds a function as it is by rare instructions (%s, %s)", (tool, how) => {
    if (how === "gather" && !hasGathers) return console.warn("SKIPPED: this processor has no gathers");
    compileProgram("../rewritten/programs/rare-reads.c", program, ["-O1"]);
    const alone = spawnSync(program, [how], { encoding: "utf8" });
    const { status, stdout, stderr } = run(tool, how);
    expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: alone.stdout, stderr: "" });
    expect(alone.stdout).toMatch(/ 14\n$/);
  });

  it.each([
    ["heap", "table", "-O0"],
    ["heap", "table", "-O2"],
    ["waste", "table", "-O2"],
    ["workingset", "table", "-O1"],
    ["heap", "named", "-O2"],
    ["workingset", "named", "-O0"],
    ["heap", "table", "-no-pie"],
  ])(
    "finds functions as they are by the pointers of a table (%s, %s, %s)",
    (tool, table, option) => {
      compileProgram("../rewritten/programs/code-read.c", program, [option]);
      const alone = spawnSync(program, [table], { encoding: "utf8" });
      const { status, stdout, stderr } = run(tool, table);
      expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: alone.stdout, stderr: "" });
      const { heap, notTracked } = runIn(join(folder, "out"));
      expect((heap?.notTracked ?? notTracked).join()).not.toContain("read its own code");
    },
    120_000,
  );

  it("finds functions of a library as they are, which it exports", () => {
    const library = join(folder, "libread.so");
    const source = "../rewritten/programs/code-read.c";
    compileProgram(source, library, ["-O2", "-shared", "-fPIC", "-DLIBRARY"]);
    compileProgram("../rewritten/programs/calls-library.c", program, [library, `-Wl,-rpath,${folder}`]);
    const alone = spawnSync(program, ["table"], { encoding: "utf8" });
    const { status, stdout, stderr } = run("heap", "table");
    expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: alone.stdout, stderr: "" });
  }, 120_000);

  it.each(["heap", "waste", "workingset"])(
    "stays as it is where it knows the end of its code, as for a sum of all of it (%s)",
    (tool) => {
      compileProgram("../rewritten/programs/code-read.c", program, ["-DALL"]);
      const alone = spawnSync(program, ["data"], { encoding: "utf8" });
      const { status, stdout, stderr } = run(tool, "data");
      expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: alone.stdout, stderr: "" });
      const { heap, notTracked } = runIn(join(folder, "out"));
      expect((heap?.notTracked ?? notTracked).join()).toContain(
        "program (it has the address of its code's end",
      );
    },
    120_000,
  );

  it("is rewritten where it was made for gprof, which wants to know where code ends", () => {
    compileProgram("../rewritten/programs/code-read.c", program, ["-pg"]);
    expect(run("heap", "data").status).toBe(0);
    expect(runIn(join(folder, "out")).heap!.notTracked!.join()).not.toContain("its code's end");
  }, 120_000);

  it.each(["heap", "waste", "workingset"])(
    "says so at its end where it has read jumps in the place of its code, and has its own code the next time (%s)",
    (tool) => {
      // Results of earlier runs are stored by the program's path.
      const program = join(mkdtempSync(join(folder, tool)), "program");
      compileProgram("../rewritten/programs/code-read.c", program, ["-O2"]);
      const options = ["--quiet", "--tool", tool, "--out", join(folder, "out"), program, "chosen"];
      const first = memshadeRun(folder, options);
      expect(first.status).toBe(0);
      expect(first.stderr).toMatch(HAS_READ);
      const gapsOf = ({ heap, notTracked }: Run): string => (heap?.notTracked ?? notTracked).join("\n");
      expect(gapsOf(runIn(join(folder, "out")))).toContain("read its own code as data (program)");
      const { status, stdout, stderr } = memshadeRun(folder, options);
      const alone = spawnSync(program, ["chosen"], { encoding: "utf8" });
      expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: alone.stdout, stderr: "" });
      expect(gapsOf(runIn(join(folder, "out")))).toContain("program (the program has read its code as data");
    },
  );

  it.each(["heap", "waste", "workingset"])(
    "reads data between its functions, about which there is nothing to say (%s)",
    (tool) => {
      compileProgram("../rewritten/programs/code-read.c", program, ["-O2"]);
      const alone = spawnSync(program, ["data"], { encoding: "utf8" });
      const { status, stdout, stderr } = run(tool, "data");
      expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: alone.stdout, stderr: "" });
    },
  );

  it.each(["library", "raw"])("is ended with a line when it makes that writable (%s)", (how) => {
    compileProgram("../rewritten/programs/code-as-data.c", program);
    const { status, stdout, stderr } = run("heap", how);
    expect(status).toBe(REFUSED);
    expect(stdout).toBe(spawnSync(program, { encoding: "utf8" }).stdout);
    expect(stderr).toMatch(CHANGES_CODE);
  });

  it.each(["map", "page", "shared"])("is ended with a line when it maps memory over that (%s)", (how) => {
    compileProgram("../rewritten/programs/code-as-data.c", program);
    const { status, stdout, stderr } = run("heap", how);
    expect(status).toBe(REFUSED);
    expect(stdout).toBe(spawnSync(program, { encoding: "utf8" }).stdout);
    expect(stderr).toMatch(REPLACES_CODE);
  });

  it.each(["pread", "preadv", "pwrite", "stream", "vm", "vmwrite", "ptrace", "write", "writev", "sendmsg"])(
    "is ended with a line when the system is to read or write that (%s), and has its data",
    (way) => {
      compileProgram("../rewritten/programs/code-by-system.c", program);
      const { status, stdout, stderr } = run("heap", way);
      expect({ status, stdout }).toEqual({ status: REFUSED, stdout: "15\n" });
      expect(stderr).toMatch(READS_CODE);
      const alone = spawnSync(program, ["heap", way], { encoding: "utf8" });
      const data = run("heap", "heap", way);
      expect(data).toMatchObject({ status: 0, stdout: alone.stdout, stderr: "" });
      expect(data.stdout).toContain("64 ");
    },
  );

  it.each([
    ["heap", "-pie"],
    ["heap", "-no-pie"],
    ["waste", "-pie"],
    ["workingset", "-pie"],
  ])("finds its program headers by its file header in memory (%s, %s)", (tool, option) => {
    compileProgram("../rewritten/programs/own-header.c", program, ["-D_GNU_SOURCE", "-fPIE", option]);
    const alone = spawnSync(program, { encoding: "utf8" });
    expect(alone.stdout).toMatch(/^\d+ at 64: \w+\n\d+ at 64: \w+\n$/);
    const { status, stdout, stderr } = run(tool);
    expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: alone.stdout, stderr: "" });
  });

  it("notes reads by return addresses, which lead to code that was added", () => {
    const program = join(mkdtempSync(join(folder, "returns")), "program");
    compileProgram("../rewritten/programs/code-read.c", program, ["-O1"]);
    const alone = spawnSync(program, ["return"], { encoding: "utf8" });
    const options = ["--quiet", "--tool", "heap", "--out", join(folder, "out"), program, "return"];
    expect(memshadeRun(folder, options).stderr).toMatch(HAS_READ);
    const { status, stdout, stderr } = memshadeRun(folder, options);
    expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: alone.stdout, stderr: "" });
  });

  it.each(["heap", "waste", "workingset"])(
    "reads code without frames and a byte behind it, as its file has them (%s)",
    (tool) => {
      compileProgram("../rewritten/programs/code-without-frames.c", program, ["-O1"]);
      const alone = spawnSync(program, { encoding: "utf8" });
      const { status, stdout, stderr } = run(tool);
      expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: alone.stdout, stderr: "" });
      expect(Object.keys(runIn(join(folder, "out")).tools)).toContain(tool);
    },
  );

  it("stays as it is, and is named, where the dynamic linker writes into its code, or anybody may", () => {
    const source = "../rewritten/programs/code-relocation.c";
    const toldOf = (): string => {
      const { status, stdout } = run("heap");
      expect({ status, stdout }).toEqual({ status: 0, stdout: "5\n" });
      return runIn(join(folder, "out")).heap!.notTracked!.join();
    };
    compileProgram(source, program, ["-pie", "-fPIE", "-Wl,-z,notext"]);
    expect(toldOf()).toContain("program (the dynamic linker writes into its code)");
    compileProgram(source, program, ["-no-pie"]);
    writeFileSync(program, withWritableCode(readFileSync(program)));
    expect(toldOf()).toContain("program (its code can be written)");
  });

  it.skipIf(outside === undefined).each(["callpop", "copyfn", "nop5", "selfpatch"])(
    "runs as alone, or ends before anything differs: %s.c from outside",
    (name) => {
      spawnSync("gcc", ["-g", "-O1", join(outside!, `${name}.c`), "-o", program], { stdio: "inherit" });
      const alone = spawnSync(program, { encoding: "utf8" });
      const { status, stdout, stderr } = run("heap");
      if (status === REFUSED) {
        expect(stdout).toBe("");
        expect(stderr).toMatch(CHANGES_CODE);
      } else expect({ status, stdout }).toEqual({ status: 0, stdout: alone.stdout });
    },
  );
});

/** A file whose code segments are readable, writable and executable. */
function withWritableCode(file: Buffer): Buffer {
  const [headers, count] = [Number(file.readBigUInt64LE(32)), file.readUInt16LE(56)];
  for (let i = 0, at = headers; i < count; i++, at += 56) {
    const isCode = file.readUInt32LE(at) === 1 && (file.readUInt32LE(at + 4) & 1) !== 0;
    if (isCode) file.writeUInt32LE(7, at + 4);
  }
  return file;
}
