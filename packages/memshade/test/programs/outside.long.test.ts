// Small inputs from outside (`../shared/fixtures/outside`), each with the value that its README calls right.
import { execFileSync, spawnSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { Run } from "../../src/profile/model/run.ts";
import type { WasteFile } from "../../src/profile/model/waste.ts";
import { MAIN } from "../command.ts";
import { sharedPath } from "../shared-path.ts";

const OUTSIDE = sharedPath("fixtures/outside");
const folder = mkdtempSync(path.join(tmpdir(), "memshade-outside-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function isInstalled(command: string): boolean {
  const { status } = spawnSync(command, ["--version"], { stdio: "ignore" });
  if (status !== 0) console.warn(`SKIPPED: ${command} is not installed`);
  return status === 0;
}

const canRunNative =
  process.platform === "linux" && process.arch === "x64" && isInstalled("gcc") && isInstalled("g++");
const canCompileWasm = isInstalled("clang-22") && existsSync("/usr/lib/wasm32-wasi/libc.a");
const hasPython = isInstalled("python3");
const TOOLS = ["alloc", "heap", "waste", "workingset"] as const;

const source = (name: string): string => path.join(OUTSIDE!, name);
const here = (name: string): string => path.join(folder, name);

function memshade(...args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, ...args], {
    cwd: folder,
    encoding: "utf8",
  });
  return { status, stdout, stderr };
}

function compile(name: string, ...options: readonly string[]): string {
  const target = here(path.parse(name).name + options.join(""));
  const compiler = name.endsWith(".cpp") ? "g++" : "gcc";
  execFileSync(compiler, ["-g", "-O1", "-w", source(`native/${name}`), "-o", target, "-pthread", ...options]);
  return target;
}

function recorded(tool: string, ...command: readonly string[]) {
  const ended = memshade("run", "--tool", tool, "--out", "out", ...command);
  const run = (): Run => JSON.parse(readFileSync(here("out/run.json"), "utf8"));
  const waste = (): WasteFile => JSON.parse(readFileSync(here("out/waste.json"), "utf8"));
  return { ...ended, run, waste };
}

describe.skipIf(OUTSIDE === undefined || !canRunNative)("native programs from outside", () => {
  it("hold their tables to the end (server.c, native-reachable-cache.c, thr.c)", () => {
    for (const [name, ...args] of [["server.c", "14"], ["native-reachable-cache.c"], ["thr.c"]]) {
      const { stderr, run } = recorded("alloc", compile(name!), ...args);
      expect(stderr, name).not.toMatch(/leak /);
      const { reach } = run().heap!;
      expect(reach, name).toMatchObject({ lostBytes: 0, indirectlyLostBytes: 0, possiblyLostBytes: 0 });
      expect(reach!.stillReachableBlocks, name).toBeGreaterThan(0);
    }
    const { stdout } = memshade("check", "out", "--limit", "lost=0");
    expect(stdout).toMatch(/ok/);
  });

  it("lose the owner, on which its parts hang (dwz-one.cpp)", () => {
    const { stderr } = recorded("alloc", compile("dwz-one.cpp"));
    expect(stderr.match(/: leak /g)).toHaveLength(1);
    expect(stderr).toMatch(/leak +3\.74 KiB +10 of 50 blocks of build \(dwz-one\.cpp:4\)/);
  });

  it("keep memory between blocks that stay (frag.c)", () => {
    expect(recorded("alloc", compile("frag.c")).stderr).toMatch(
      /fragmentation +1\d\d MiB .*make_message \(frag\.c:9\)/,
    );
  });

  it.each(["0", "10", "60"])("keep frames after the last use (frames.c with %s calls)", (calls) => {
    const { stderr } = recorded("heap", compile("frames.c", `-DCALLS=${calls}`));
    expect(stderr).toMatch(/drag +3\.6\d MiB +5[89] of 60 blocks of main \(frames\.c:11\)/);
  });

  it("copy half of their peak (copy.c)", () => {
    expect(recorded("heap", compile("copy.c")).stderr).toMatch(/peak +1\.00 MiB/);
  });

  it("copy for nothing by a function of the C library (copy-4k.c)", () => {
    const { stderr } = recorded("waste", compile("copy-4k.c", "-fno-builtin"));
    expect(stderr).toMatch(/dead +3\.9\d MiB +stored by main \(copy-4k\.c:4\)/);
  });

  it("search and compare by one instruction (scas.c, scasdead.c, cmps.c)", () => {
    for (const name of ["scas.c", "cmps.c"]) {
      const program = compile(name);
      const alone = execFileSync(program, { encoding: "utf8" });
      for (const tool of TOOLS)
        expect(recorded(tool, program), tool).toMatchObject({ status: 0, stdout: alone });
    }
    const { waste } = recorded("waste", compile("scasdead.c"));
    const dead = waste().stores.filter(({ ips }) => ips.some((ip) => ip.function === "fill"));
    expect(dead.reduce((sum, store) => sum + store.dead_overwritten, 0)).toBe(4090);
  });

  it("touch little of large blocks (sparse.c)", () => {
    const program = compile("sparse.c");
    for (let way = 0; way <= 8; way++)
      for (const tool of ["heap", "waste"]) {
        const { status, run } = recorded(tool, program, String(way));
        expect(status, `${tool} ${way}`).toBe(0);
        expect(run().presence!.shadow, `${tool} ${way}`).toBeLessThan(100 * 2 ** 20);
      }
  });

  it("have a heap behind their last byte, in the second run too (endbrk.c)", () => {
    const program = compile("endbrk.c", "-no-pie");
    for (const tool of [...TOOLS, ...TOOLS])
      expect(recorded(tool, program), tool).toMatchObject({ status: 0, stdout: "contiguous 1\nok\n" });
  });

  it.each(["callpop.c", "copyfn.c"])("use their code as data (%s)", (name) => {
    const program = compile(name);
    const alone = execFileSync(program, { encoding: "utf8" });
    for (const tool of TOOLS)
      expect(recorded(tool, program), tool).toMatchObject({ status: 0, stdout: alone });
  });

  it.each(["nop5.c", "selfpatch.c"])(
    "change their code, which ends them with a line before any output (%s)",
    (name) => {
      const program = compile(name);
      const alone = execFileSync(program, { encoding: "utf8" });
      expect(recorded("alloc", program)).toMatchObject({ status: 0, stdout: alone });
      for (const tool of ["heap", "waste", "workingset"]) {
        const { status, stdout, stderr } = recorded(tool, program);
        expect({ status, stdout }, tool).toEqual({ status: 121, stdout: "" });
        expect(stderr).toMatch(/^memshade: the program makes its own code writable\./);
      }
    },
  );

  it("ask for fewer bytes than are aligned (aligned-new.cpp)", () => {
    recorded("alloc", compile("aligned-new.cpp"));
    const { stdout } = memshade("report", "--json", "--full", "out");
    const sizes = [...stdout.matchAll(/"bytes": ?(\d+)/g)].map(([, bytes]) => Number(bytes));
    expect(sizes).toContain(10);
    expect(sizes).not.toContain(64);
  });
});

describe.skipIf(OUTSIDE === undefined || !canCompileWasm)("WebAssembly modules from outside", () => {
  function compileWasm(name: string, ...options: readonly string[]): string {
    const target = here(`${path.parse(name).name}.wasm`);
    const compiler = name.endsWith(".cpp") ? "clang++-22" : "clang-22";
    const usual = ["--target=wasm32-wasi", "--sysroot=/usr", "-g", "-w", "--no-wasm-opt"];
    execFileSync(compiler, [...usual, ...options, source(`wasm/${name}`), "-o", target]);
    return target;
  }

  it("have many contexts with live blocks (contexts.c)", () => {
    const { run } = recorded("heap", compileWasm("contexts.c", "-O1"), "60000");
    expect(run().heap!.allocations).toBeGreaterThanOrEqual(60_000);
  });

  it("hold an object by its second base (multiple-inheritance.cpp)", () => {
    const { stderr } = recorded("alloc", compileWasm("multiple-inheritance.cpp", "-O0", "-fno-exceptions"));
    expect(stderr).not.toMatch(/leak /);
    expect(memshade("report", "out").stdout).toMatch(/Still reachable: 16 B in 1 block/);
  });

  it("trap, and their trace has lines (trap.c)", () => {
    const module = compileWasm("trap.c", "-O1");
    expect(recorded("alloc", module).status).toBe(134);
    // The stack as an engine prints it: the program runs alone.
    const alone = `
      const wasi = new (require("node:wasi").WASI)({ version: "preview1" });
      const module = new WebAssembly.Module(require("node:fs").readFileSync(process.argv[1]));
      try { wasi.start(new WebAssembly.Instance(module, wasi.getImportObject())); } catch ({ stack }) { console.log(stack); }`;
    const input = execFileSync(process.execPath, ["--no-warnings", "-e", alone, module]);
    const ended = spawnSync(process.execPath, [MAIN, "symbolize", "--binary", module], {
      cwd: folder,
      encoding: "utf8",
      input,
    });
    expect(ended.stdout).toMatch(/trap\.c:4:79[\s\S]*trap\.c:5:73[\s\S]*trap\.c:6:33/);
  });
});

describe.skipIf(OUTSIDE === undefined)("files from outside", () => {
  it("are what their pointer size says (x32-core.py)", { skip: !hasPython }, () => {
    execFileSync("python3", [source("formats/x32-core.py"), here("x32.core")]);
    expect(memshade("unwind", "x32.core")).toMatchObject({
      status: 2,
      stdout: "",
      stderr: expect.stringMatching(/x32/),
    });
  });

  it("are heaps of jemalloc (jeprof.1.0.i0.heap)", () => {
    expect(memshade("report", source("formats/jeprof.1.0.i0.heap"))).toMatchObject({ status: 0, stderr: "" });
  });

  it("are heaps of pprof with other names of columns (pprof-shapes.mjs)", () => {
    const CHECKOUT = path.resolve(import.meta.dirname, "../../../..");
    execFileSync(process.execPath, [source("formats/pprof-shapes.mjs")], {
      cwd: folder,
      env: { ...process.env, CHECKOUT },
    });
    for (const name of ["inuse-only.pb.gz", "space-only.pb.gz"]) {
      const { status, stdout } = memshade("report", name);
      expect({ name, status }).toEqual({ name, status: 0 });
      expect(stdout).toMatch(/2\.00 MiB/);
    }
  });

  it("are YAML as LLVM reads it (yaml-octal.yaml, yaml-yes.yaml, yaml-same-guid.yaml)", () => {
    const merge = (name: string): void => {
      const args = [source(`formats/${name}`), "--memprof-version", "4", "--output", "merged.profdata"];
      expect(memshade("merge", ...args)).toMatchObject({ status: 0 });
    };
    merge("yaml-octal.yaml");
    expect(memshade("show", "merged.profdata").stdout).toMatch(
      /LineOffset: 15, Column: 8, IsInlineFrame: true/,
    );
    merge("yaml-yes.yaml");
    expect(memshade("show", "merged.profdata").stdout).toMatch(/IsInlineFrame: true/);
    merge("yaml-same-guid.yaml");
    expect(readFileSync(here("merged.profdata"))).toHaveLength(880);
  });

  it.each([
    ["pipeline-inlines-macos-segv.dmp", /EXC_BAD_ACCESS/],
    ["linux-mini.dmp", /SIGSEGV/],
  ])("are dumps of crashed programs (%s)", (name, expected) => {
    const { stdout } = memshade("unwind", source(`minidump/${name}`));
    expect(stdout).toMatch(expected);
  });

  it("hold no control characters for the terminal (escape.dmp)", () => {
    const { stdout, stderr } = memshade("unwind", source("hostile/escape.dmp"));
    expect(stdout + stderr).not.toMatch(/(?![\n\t])\p{Cc}|\p{Bidi_Control}/u);
  });

  it("are modules that engines refuse (invalid-local.wasm)", () => {
    const { status, stderr } = memshade("run", source("hostile/invalid-local.wasm"));
    expect(status).toBe(2);
    expect(stderr.trim().split("\n")).toHaveLength(1);
  });

  it("are damaged source maps, which leave the exit code alone (map-mappings.json)", () => {
    const module = path.join(import.meta.dirname, "../fixtures/programs/kernels/hashmap.wasm");
    copyFileSync(module, here("map.wasm"));
    const alone = memshade("run", "--out", "plain", "map.wasm").status;
    for (const text of [
      readFileSync(source("hostile/map-mappings.json"), "utf8"),
      '{"version":3,"ignoreList":5}',
      "{}",
      "[[5]]",
    ]) {
      writeFileSync(here("map.wasm.map"), text);
      expect(memshade("run", "--out", "mapped", "map.wasm").status, text).toBe(alone);
      expect(memshade("report", "mapped").status, text).toBe(0);
    }
  });
});

describe.skipIf(OUTSIDE === undefined)("npm packages from outside", () => {
  const MODULES = path.resolve(import.meta.dirname, "../../../../node_modules");

  it("make one instance for each task, and keep all (w6-instances.mjs)", () => {
    symlinkSync(MODULES, here("node_modules"));
    copyFileSync(source("javascript/w6-instances.mjs"), here("w6-instances.mjs"));
    const { status, stderr } = memshade("node", "--out", "out", "w6-instances.mjs");
    expect(status).toBe(0);
    expect(stderr).toMatch(/instances +\d\.\d\d MiB +in 80 instances of hash-wasm\S* by .* are kept/);
  });
});
