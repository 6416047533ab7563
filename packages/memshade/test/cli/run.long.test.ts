import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readMeasured } from "../../src/profile/model/read-run.ts";
import {
  memshade,
  newFolder,
  onlyRun,
  readRun,
  runFolders,
  startMemshade,
  startNode,
} from "./support/command-line.ts";
import {
  assemble,
  COPY_INPUT,
  EXIT_7,
  manySites,
  READS_A_LOCAL_TOO_MANY,
  RECURSE,
  SPIN,
  TRAP,
  wasiProgram,
  writeProgram,
} from "./support/programs.ts";

const WRITTEN = /^memshade: profile written to \S+; see it with: memshade report \S+\n$/;
const LINE = /^memshade: profile written to \S+; see it with: memshade report \S+\n(memshade: .*\n)+$/;

describe("memshade run", () => {
  it("says at once that it follows no heap, and what looks like its allocator", async () => {
    const cwd = newFolder();
    writeProgram(
      cwd,
      "bump.wasm",
      `(module (memory (export "memory") 1)
        (func $malloc (export "malloc") (param i32) (result i32) (i32.const 1024))
        (func (export "_start") (i32.store (call $malloc (i32.const 16)) (i32.const 7))))`,
    );
    const { stderr } = await memshade(["run", "bump.wasm"], { cwd });
    expect(stderr).toMatch(
      /^memshade: bump\.wasm: malloc is malloc \(func\[0\]\), but its free function was not found\./m,
    );
    expect(stderr).toMatch(/^memshade: no findings, but no allocator was found: the heap was not recorded$/m);
  });

  it("does not say that all is well where the code has no names to tell of", async () => {
    const cwd = newFolder();
    const program = `(module (memory (export "memory") 1) (global (mut i32) (i32.const 1024))
      (func (export "malloc") (param i32) (result i32)
        (global.set 0 (i32.add (global.get 0) (i32.const 64))) (global.get 0))
      (func (export "free") (param i32))
      (func (drop (call 0 (i32.const 48))))
      (func (export "_start") (call 2) (call 2)))`;
    writeProgram(cwd, "stripped.wasm", program);
    const { stderr } = await memshade(["run", "--out", "run", "stripped.wasm"], { cwd });
    expect(stderr).toContain("no findings, but the code that allocates has no names: findings need names\n");
    const { stdout } = await memshade(["report", "run"], { cwd });
    expect(stdout).toContain("The code that allocates has neither names nor lines");
  });

  it("passes input through and leaves the output to the program", async () => {
    const cwd = newFolder();
    writeProgram(cwd, "copy.wasm", COPY_INPUT);
    const input = Array.from({ length: 40_000 }, (_, i) => `line ${i}\n`).join("");
    const { stdout, stderr, code } = await memshade(["run", "copy.wasm"], { cwd, input });
    expect(code).toBe(0);
    expect(stdout === input).toBe(true);
    expect(stderr).toMatch(LINE);
    const run = onlyRun(cwd);
    expect(run).toMatchObject({
      program: "copy",
      command: ["copy.wasm"],
      end: { kind: "exit", exitCode: 0 },
    });
    expect(run.heap).toMatchObject({ allocations: 1, allocatedBytes: 100, liveBlocks: 1 });
  });

  it("keeps the exit code of proc_exit", async () => {
    const cwd = newFolder();
    writeProgram(cwd, "seven.wasm", EXIT_7);
    const { code, stdout } = await memshade(["run", "seven.wasm"], { cwd });
    expect({ code, stdout }).toEqual({ code: 7, stdout: "" });
    expect(onlyRun(cwd).end).toEqual({ kind: "exit", exitCode: 7 });
  });

  it("reports a trap in one line and writes what was recorded up to it", async () => {
    const cwd = newFolder();
    writeProgram(cwd, "trap.wasm", TRAP);
    const { code, stderr } = await memshade(["run", "trap.wasm"], { cwd });
    expect(code).toBe(134);
    expect(stderr.split("\n")[0]).toBe("memshade: trap.wasm trapped: unreachable");
    expect(stderr.split("\n")).toHaveLength(4);
    const run = onlyRun(cwd);
    expect(run.end).toEqual({ kind: "trap", message: "unreachable", exitCode: 134 });
    expect(run.heap?.allocations).toBe(1);
  });

  it("ends endless recursion as a trap, after going deeper than Node's own stack would", async () => {
    const cwd = newFolder();
    writeProgram(cwd, "recurse.wasm", RECURSE);
    const { code, stderr } = await memshade(["run", "recurse.wasm"], { cwd });
    expect(code).toBe(134);
    expect(stderr).toContain("recurse.wasm trapped: call stack exhausted");
    expect(onlyRun(cwd).heap?.allocations).toBeGreaterThan(20_000);
  });

  it("gives everything behind the program to the program, and its name in front", async () => {
    const cwd = newFolder();
    const printArguments = wasiProgram(`
      (drop (call $args_get (i32.const 256) (i32.const 2048)))
      (call $write (i32.const 2048) (i32.const 31))`).replace(
      "(memory",
      '(import "wasi_snapshot_preview1" "args_get" (func $args_get (param i32 i32) (result i32))) (memory',
    );
    writeProgram(cwd, "arguments.wasm", printArguments);
    const { stdout } = await memshade(["run", "--out", "here", "arguments.wasm", "--out", "x", "--help"], {
      cwd,
    });
    expect(stdout.split("\0").slice(0, 4)).toEqual(["arguments.wasm", "--out", "x", "--help"]);
    expect(readRun(join(cwd, "here")).command).toEqual(["arguments.wasm", "--out", "x", "--help"]);
  });

  it("opens folders and sets variables only as told", async () => {
    const cwd = newFolder();
    mkdirSync(join(cwd, "data"));
    writeFileSync(join(cwd, "data", "hello.txt"), "hello from the host");
    const readFile = wasiProgram(`
      (drop (call $path_open (i32.const 3) (i32.const 0) (i32.const 2048) (i32.const 9)
        (i32.const 0) (i64.const 2) (i64.const 0) (i32.const 0) (i32.const 512)))
      (i32.store (i32.const 16) (i32.const 4096))
      (i32.store (i32.const 20) (i32.const 100))
      (drop (call $fd_read (i32.load (i32.const 512)) (i32.const 16) (i32.const 1) (i32.const 24)))
      (call $write (i32.const 4096) (i32.load (i32.const 24)))
      (drop (call $environ_get (i32.const 256) (i32.const 3000)))
      (call $write (i32.const 3000) (i32.const 7))`)
      .replace(
        "(memory",
        `(import "wasi_snapshot_preview1" "path_open"
          (func $path_open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
        (import "wasi_snapshot_preview1" "environ_get" (func $environ_get (param i32 i32) (result i32))) (memory`,
      )
      .replace("(data", '(data (i32.const 2048) "hello.txt") (data');
    writeProgram(cwd, "read.wasm", readFile);
    const { stdout, stderr } = await memshade(["run", "--dir", "data::/", "--env", "COLOR=3", "read.wasm"], {
      cwd,
    });
    // The program allocates nothing, so there is no finding.
    expect(stderr).toMatch(WRITTEN);
    expect(stdout).toBe("hello from the hostCOLOR=3".slice(0, 26));
    const missing = await memshade(["run", "--dir", "nowhere", "read.wasm"], { cwd });
    expect(missing).toMatchObject({ code: 2, stderr: "memshade: --dir nowhere: no such file or folder\n" });
  });

  it("prints the same bytes when the reader is slow", async () => {
    const cwd = newFolder();
    writeProgram(
      cwd,
      "much.wasm",
      wasiProgram(`(local $i i32)
        (memory.fill (i32.const 65536) (i32.const 120) (i32.const 65536))
        (loop $more
          (call $write (i32.const 65536) (i32.const 65536))
          (br_if $more (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 64))))`),
    );
    const program = startMemshade(["run", "much.wasm"], { cwd, input: "" });
    program.child.stdout!.pause();
    await new Promise((done) => setTimeout(done, 1500));
    program.child.stdout!.resume();
    const { stdout, code } = await program.ended;
    expect(code).toBe(0);
    expect(stdout.length).toBe(64 * 65536);
  });

  it.each(["SIGINT", "SIGTERM"] as const)(
    "writes the profile of a busy program that gets %s, then dies by it",
    async (signal) => {
      const cwd = newFolder();
      writeProgram(cwd, "spin.wasm", SPIN);
      const program = startMemshade(["run", "spin.wasm"], { cwd });
      await program.printed("ready");
      program.child.kill(signal);
      const { signal: diedBy, stderr } = await program.ended;
      expect(diedBy).toBe(signal);
      expect(stderr).toMatch(LINE);
      expect(onlyRun(cwd)).toMatchObject({ end: { kind: "signal", signal }, heap: { allocations: 1 } });
    },
  );

  it("writes the profile when a signal comes twice at once, as to a process and to its group", async () => {
    const cwd = newFolder();
    writeProgram(cwd, "spin.wasm", SPIN);
    const program = startMemshade(["run", "spin.wasm"], { cwd });
    await program.printed("ready");
    program.child.kill("SIGINT");
    await new Promise((done) => setTimeout(done, 5));
    program.child.kill("SIGINT");
    expect((await program.ended).signal).toBe("SIGINT");
    expect(onlyRun(cwd).heap?.allocations).toBe(1);
  });

  it("writes the profile of a program that waits for input when it is interrupted", async () => {
    const cwd = newFolder();
    writeProgram(cwd, "copy.wasm", COPY_INPUT);
    const program = startMemshade(["run", "copy.wasm"], { cwd });
    program.child.stdin!.write("first\n");
    await program.printed("first");
    program.child.kill("SIGTERM");
    expect((await program.ended).signal).toBe("SIGTERM");
    expect(onlyRun(cwd).heap?.liveBytes).toBe(100);
  });

  it("dumps at SIGUSR2 while the program goes on", async () => {
    const cwd = newFolder();
    writeProgram(cwd, "copy.wasm", COPY_INPUT);
    const program = startMemshade(["run", "--out", "here", "copy.wasm"], { cwd });
    program.child.stdin!.write("first\n");
    await program.printed("first");
    program.child.kill("SIGUSR2");
    await program.printed("here.dump1");
    program.child.kill("SIGUSR2");
    await program.printed("here.dump2");
    program.child.stdin!.end("second\n");
    const { stdout, code } = await program.ended;
    expect({ stdout, code }).toEqual({ stdout: "first\nsecond\n", code: 0 });
    for (const name of ["here.dump1", "here.dump2"])
      expect(readRun(join(cwd, name))).toMatchObject({ end: { kind: "dump" }, heap: { liveBlocks: 1 } });
    expect(readRun(join(cwd, "here")).end.kind).toBe("exit");
  });

  it("writes the same bytes for two runs of the same program", async () => {
    const cwd = newFolder();
    writeProgram(cwd, "copy.wasm", COPY_INPUT);
    for (const out of ["one", "two"])
      await memshade(["run", "--out", out, "copy.wasm"], { cwd, input: "abc" });
    const files = readdirSync(join(cwd, "one"));
    const names = [
      "heap.memprofraw",
      "heapintervals.json",
      "measured.json",
      "retainers.json",
      "run.json",
      "statics.json",
    ];
    expect(files.sort()).toEqual(names);
    for (const file of files.filter((name) => name !== "measured.json"))
      expect(readFileSync(join(cwd, "one", file)).equals(readFileSync(join(cwd, "two", file)))).toBe(true);
    const { process: cost } = readMeasured(readFileSync(join(cwd, "one/measured.json"), "utf8"));
    const { peakBytes, processorMs, rewritingMs, profileMs } = cost!;
    expect(peakBytes).toBeGreaterThan(20 << 20);
    expect(rewritingMs).toBeGreaterThan(0);
    expect(processorMs).toBeGreaterThanOrEqual(rewritingMs + profileMs);
  });

  it("loses nothing when its tables are smaller than the program needs", async () => {
    const cwd = newFolder();
    writeProgram(cwd, "sites.wasm", manySites(40));
    await memshade(["run", "--out", "wide", "sites.wasm"], { cwd });
    await memshade(["run", "--out", "narrow", "--max-contexts", "4", "sites.wasm"], { cwd });
    const [wide, narrow] = ["wide", "narrow"].map((name) => readRun(join(cwd, name)));
    expect(wide.heap).toMatchObject({ allocations: 40, frees: 40 });
    expect(wide.heap?.sites).toHaveLength(40);
    expect(narrow.heap?.sites).toEqual(wide.heap?.sites);
  });

  it("runs a reactor's initializer, says so, and calls the function it is told to", async () => {
    const cwd = newFolder();
    const reactor = wasiProgram("(call $leak (i32.const 16))")
      .replace('"_start"', '"_initialize"')
      .replace(
        /\)$/,
        '(func (export "add") (param i32 i64) (result i64) (call $say_ready) (i64.add (i64.extend_i32_s (local.get 0)) (local.get 1))))',
      );
    writeProgram(cwd, "library.wasm", reactor);
    const plain = await memshade(["run", "library.wasm"], { cwd });
    expect(plain.code).toBe(0);
    expect(plain.stderr).toContain("library.wasm is a WASI reactor");
    const invoked = await memshade(["run", "--invoke", "add", "library.wasm", "40", "-2"], { cwd });
    expect(invoked).toMatchObject({ code: 0, stdout: "ready\n" });
    expect(invoked.stderr).toContain("memshade: add returned 38\n");
    const unknown = await memshade(["run", "--invoke", "subtract", "library.wasm"], { cwd });
    expect(unknown).toMatchObject({
      code: 2,
      stderr: "memshade: library.wasm: it exports no function named subtract\n",
    });
  });

  it("runs programs of the old WASI namespace", async () => {
    const cwd = newFolder();
    writeProgram(cwd, "old.wasm", EXIT_7.replaceAll("wasi_snapshot_preview1", "wasi_unstable"));
    expect((await memshade(["run", "old.wasm"], { cwd })).code).toBe(7);
  });

  it("replaces the files of an earlier run in the same folder", async () => {
    const cwd = newFolder();
    writeProgram(cwd, "seven.wasm", EXIT_7);
    writeProgram(cwd, "trap.wasm", TRAP);
    await memshade(["run", "--out", "here", "seven.wasm"], { cwd });
    await memshade(["run", "--out", "here", "trap.wasm"], { cwd });
    expect(readRun(join(cwd, "here")).end.kind).toBe("trap");
    expect(readdirSync(join(cwd, "here")).sort()).toEqual([
      "heap.memprofraw",
      "heapintervals.json",
      "measured.json",
      "retainers.json",
      "run.json",
      "statics.json",
    ]);
  });

  it("says before the program runs that the folder cannot be written", async () => {
    const cwd = newFolder();
    writeProgram(cwd, "copy.wasm", COPY_INPUT);
    writeFileSync(join(cwd, "file"), "");
    const { stdout, stderr, code } = await memshade(["run", "--out", "file/run", "copy.wasm"], {
      cwd,
      input: "x",
    });
    expect({ stdout, code }).toEqual({ stdout: "", code: 2 });
    expect(stderr).toMatch(/^memshade: cannot write the profile to file\/run: .*file is not a folder\n$/);
  });

  it("stops with one line for programs that it cannot give what they import", async () => {
    const cwd = newFolder();
    writeProgram(cwd, "glue.wasm", '(module (import "env" "draw" (func)) (func (export "_start")))');
    const { stderr, code } = await memshade(["run", "glue.wasm"], { cwd });
    expect(code).toBe(2);
    expect(stderr).toMatch(/^memshade: glue\.wasm: it imports the function env\.draw, .*\n$/);
    expect(runFolders(cwd)).toEqual([]);
  });
});

describe("files that memshade run refuses", () => {
  const magic = [0x00, 0x61, 0x73, 0x6d];
  it.each([
    ["an empty file", [], "the file is empty"],
    ["a truncated preamble", [0, 0x61, 0x73], "truncated"],
    ["a truncated module", [...magic, 1, 0, 0, 0, 1, 9, 1], "section"],
    ["something else", [0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 0], "not a WebAssembly module"],
    ["the text form", [...new TextEncoder().encode("(module)")], "text form"],
    ["a component", [...magic, 0x0d, 0, 1, 0], "component"],
    ["an unknown version", [...magic, 2, 0, 0, 0], "version 2 is not supported"],
    ["an invalid module", [...magic, 1, 0, 0, 0, 1, 4, 1, 0x60, 0, 0, 3, 2, 1, 7], ""],
    [
      "a module that tools would make valid",
      assemble(READS_A_LOCAL_TOO_MANY),
      "not valid: Compiling function #2 failed: invalid local index: 0",
    ],
  ])("%s: one line, exit code 2, nothing written", async (_what, bytes, reason) => {
    const cwd = newFolder();
    writeFileSync(join(cwd, "bad.wasm"), Uint8Array.from(bytes));
    const { stderr, stdout, code } = await memshade(["run", "bad.wasm"], { cwd });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(/^memshade: bad\.wasm: [^\n]+\n$/);
    expect(stderr).toContain(reason);
    expect(existsSync(join(cwd, "memshade.out"))).toBe(false);
  });

  it("a folder, and a file that is not there", async () => {
    const cwd = newFolder();
    expect((await memshade(["run", "."], { cwd })).stderr).toBe("memshade: .: it is a folder\n");
    const missing = await memshade(["run", "no.wasm"], { cwd });
    expect(missing).toMatchObject({ code: 2, stderr: "memshade: no.wasm: no such file\n" });
  });
});

it("prints what plain node:wasi prints, on the same programs", async () => {
  const cwd = newFolder();
  const plain = join(cwd, "plain.mjs");
  writeFileSync(
    plain,
    `import { readFileSync } from "node:fs"; import { WASI } from "node:wasi";
     const wasi = new WASI({ version: "preview1", args: process.argv.slice(2), returnOnExit: true });
     const module = new WebAssembly.Module(readFileSync(process.argv[2]));
     process.exitCode = wasi.start(new WebAssembly.Instance(module, wasi.getImportObject()));`,
  );
  for (const [name, text] of [
    ["copy.wasm", COPY_INPUT],
    ["seven.wasm", EXIT_7],
  ]) {
    writeProgram(cwd, name, text);
    const expected = await startNode([plain, name], { cwd, input: "some input" }).ended;
    const { stdout, code } = await memshade(["run", name], { cwd, input: "some input" });
    expect({ stdout, code }).toEqual({ stdout: expected.stdout, code: expected.code });
  }
});
