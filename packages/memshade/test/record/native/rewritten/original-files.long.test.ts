import { spawnSync } from "node:child_process";
import { appendFileSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { canCompile, compileProgram, memshadeRun, runIn } from "../support/record.ts";

const hasNamespaces = spawnSync("unshare", ["--mount", "true"]).status === 0;
if (canCompile && !hasNamespaces)
  console.warn("SKIPPED: there are no mount namespaces here: no rewritten program is started");

const LIBC = "/lib/x86_64-linux-gnu/libc.so.6";
/** Ordinary commands on the files of a program, run by programs that are among these files. */
const COMMANDS = [
  "cp /usr/bin/cp copy && cat copy | sha256sum && rm copy",
  "cp /proc/self/exe copy && ./copy --version && rm copy",
  "install /usr/bin/install copy && sha256sum copy && rm copy",
  "tar cf - -C / bin/tar usr/bin/sha256sum | tar xOf - | sha256sum",
  `dd if=${LIBC} bs=64k | sha256sum`,
  `cat < ${LIBC} | sha256sum`,
  "sha256sum /usr/bin/sha256sum",
  "stat -c '%s %i %d %Y' /usr/bin/stat",
  "ls -li /usr/bin/ls",
  "head -c 70000 /usr/bin/head | tail -c 1000 | sha256sum",
];

describe.skipIf(!canCompile || !hasNamespaces)("a file that a rewritten one stands in the place of", () => {
  const folder = mkdtempSync(join(tmpdir(), "memshade-originals-"));
  const program = join(folder, "reads-itself");
  afterAll(() => rmSync(folder, { recursive: true }));
  const run = (tool: string, command: string[]) =>
    memshadeRun(folder, ["--quiet", "--tool", tool, "--out", join(folder, "out"), ...command]);

  it.each(["heap", "waste", "workingset"])(
    "is read as it is by the program, however that opens it (%s)",
    (tool) => {
      compileProgram("../rewritten/programs/reads-itself.c", program);
      appendFileSync(program, "something that is appended, and read from the file's end");
      const alone = spawnSync(program, { encoding: "utf8" });
      expect(alone.stdout).toContain("statx");
      const { status, stdout, stderr } = run(tool, [program]);
      expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: alone.stdout, stderr: "" });
    },
  );

  it("is replaced by the program where nothing stands in its place, and by none otherwise, as the docs say", () => {
    const own = join(folder, "replaces-itself");
    const outcome = (tool: string): string[] => {
      compileProgram("../rewritten/programs/replaces-itself.c", own);
      const { status, stdout } = run(tool, [own, own]);
      expect(status).toBe(0);
      return stdout.trimEnd().split("\n");
    };
    expect(outcome("alloc")).toEqual(["permissions: done", "rename: done", "remove: done"]);
    for (const tool of ["heap", "waste", "workingset"])
      expect(outcome(tool)).toEqual([
        "permissions: Read-only file system",
        "rename: Device or resource busy",
        "remove: Device or resource busy",
      ]);
  });

  it("is copied as it is by programs that are such files themselves", () => {
    const script = COMMANDS.join("\n");
    const alone = spawnSync("sh", ["-c", script], { encoding: "utf8", cwd: folder });
    expect(alone.status).toBe(0);
    // The second run rewrites the programs that the first run started.
    for (let turn = 0; turn < 2; turn++) {
      const { status, stdout } = run("heap", ["sh", "-c", script]);
      expect({ status, stdout }).toEqual({ status: 0, stdout: alone.stdout });
    }
  });

  it("is found rewritten by programs without our dynamic linker, which is told", () => {
    const alone = join(folder, "static-program");
    compileProgram("naps.c", alone, ["-static"]);
    const [script, link] = [join(folder, "script"), join(folder, "link")];
    writeFileSync(script, `#!${alone}\n`, { mode: 0o755 });
    symlinkSync(alone, link);
    const told = (command: string): string[] => {
      const out = join(folder, "out");
      const { status, stderr } = memshadeRun(folder, ["--tool", "heap", "--out", out, "sh", "-c", command]);
      expect(status).toBe(0);
      const gaps = runIn(out).heap!.notTracked!.filter((one) => one.includes("another dynamic linker"));
      expect(stderr.includes("another dynamic linker or none")).toBe(gaps.length > 0);
      return gaps;
    };
    expect(told("/bin/true; ./nothing || /bin/true")).toEqual([]);
    const [sentence, ...others] = told("./link; /bin/true; ./static-program; ./script");
    expect(others).toEqual([]);
    expect(sentence).toMatch(
      /^1 child program \(static-program\) has another dynamic linker or none: it may have read instrumented files/,
    );
  });
});
