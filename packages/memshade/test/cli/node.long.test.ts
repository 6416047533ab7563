import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { readMeasured } from "../../src/profile/model/read-run.ts";
import {
  memshade,
  newFolder,
  type Outcome,
  onlyRun,
  readRun,
  runFolders,
  startNode,
} from "./support/command-line.ts";
import { assemble, LIBRARY, manySites, READS_A_LOCAL_TOO_MANY, writeProgram } from "./support/programs.ts";

const WRITTEN = /memshade: profile written to (\S+); see it with: memshade report \1\n/;
const NOTHING = "memshade: no WebAssembly module was instantiated; nothing was written\n";

function withScript(name: string, text: string): string {
  const cwd = newFolder();
  writeProgram(cwd, "library.wasm", LIBRARY);
  writeFileSync(join(cwd, name), text);
  return cwd;
}

const ESM_START = `
  import { readFileSync } from "node:fs";
  const bytes = readFileSync("library.wasm");
  const imports = { host: { notify() {} } };
`;

/** Runs a script plain and under memshade; output and exit code of the program must be the same. */
async function runBoth(cwd: string, script: string, ...args: string[]): Promise<Outcome> {
  const plain = await startNode([script, ...args], { cwd, input: "" }).ended;
  const profiled = await memshade(["node", script, ...args], { cwd });
  expect({ stdout: profiled.stdout, code: profiled.code }).toEqual({
    stdout: plain.stdout,
    code: plain.code,
  });
  return profiled;
}

describe("memshade node", () => {
  it("leaves an error that the program does not catch readable: no line of it is a whole file", async () => {
    const cwd = withScript(
      "broken.cjs",
      "new WebAssembly.Module(Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0, 9, 9));",
    );
    const { code, stderr } = await runBoth(cwd, "broken.cjs");
    expect(code).toBe(1);
    expect(stderr).toMatch(/^CompileError: .*\n +at /m);
    expect(Math.max(...stderr.split("\n").map((line) => line.length))).toBeLessThan(300);
  });

  it("records every way of instantiating a module", async () => {
    const cwd = withScript(
      "all.mjs",
      `${ESM_START}
      const response = () => new Response(bytes, { headers: { "content-type": "application/wasm" } });
      const module = await WebAssembly.compile(bytes);
      const instances = [
        new WebAssembly.Instance(new WebAssembly.Module(bytes), imports),
        new WebAssembly.Instance(module, imports),
        await WebAssembly.instantiate(module, imports),
        (await WebAssembly.instantiate(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length), imports)).instance,
        await WebAssembly.instantiate(await WebAssembly.compileStreaming(response()), imports),
        (await WebAssembly.instantiateStreaming(Promise.resolve(response()), imports)).instance,
      ];
      for (const [i, instance] of instances.entries()) console.log(instance.exports.fill(i + 1));`,
    );
    const { stderr } = await runBoth(cwd, "all.mjs");
    expect(stderr).toMatch(WRITTEN);
    const run = onlyRun(cwd);
    expect(run).toMatchObject({ program: "all", command: ["all.mjs"], end: { kind: "exit", exitCode: 0 } });
    expect(run.modules).toHaveLength(1);
    expect(run.modules[0]).toMatchObject({
      name: "library.wasm",
      path: join(cwd, "library.wasm"),
      instances: 6,
    });
    expect(run.heap).toMatchObject({ allocations: 21, allocatedBytes: 21 * 24 });
  });

  it("records several modules of a CommonJS program", async () => {
    const cwd = withScript(
      "two.cjs",
      `const { readFileSync } = require("node:fs");
      const imports = { host: { notify() {} } };
      for (const name of ["library.wasm", "other.wasm"]) {
        const { exports } = new WebAssembly.Instance(new WebAssembly.Module(readFileSync(name)), imports);
        console.log(name, exports.fill(3));
      }`,
    );
    writeProgram(cwd, "other.wasm", LIBRARY.replace("i32.const 24", "i32.const 48"));
    await runBoth(cwd, "two.cjs");
    const run = onlyRun(cwd);
    expect(run.modules.map(({ name, start }) => [name, start])).toEqual([
      ["library.wasm", "0x0"],
      ["other.wasm", "0x100000000"],
    ]);
    expect(run.heap?.allocatedBytes).toBe(3 * 24 + 3 * 48);
  });

  it("records modules that are imported as ES modules", async () => {
    const cwd = withScript("esm.mjs", 'import { fill } from "./library.wasm"; console.log(fill(2));');
    writeFileSync(join(cwd, "package.json"), '{ "imports": {} }');
    writeProgram(cwd, "library.wasm", LIBRARY.replace('"host"', '"./host.mjs"'));
    writeFileSync(join(cwd, "host.mjs"), "export function notify() {}");
    await runBoth(cwd, "esm.mjs");
    expect(onlyRun(cwd).heap?.allocations).toBe(2);
  });

  it("finds file and allocator of a real module through its JavaScript glue", async () => {
    const glue = createRequire(import.meta.url).resolve("sql.js");
    const cwd = withScript(
      "sql.cjs",
      `require(${JSON.stringify(glue)})().then((SQL) => {
        const db = new SQL.Database();
        db.run("create table t (a); insert into t values (1), (2)");
        console.log(JSON.stringify(db.exec("select sum(a) from t")));
      });`,
    );
    expect((await runBoth(cwd, "sql.cjs")).stdout).toBe('[{"columns":["sum(a)"],"values":[[3]]}]\n');
    const { modules, heap } = onlyRun(cwd);
    expect(modules).toMatchObject([
      {
        name: "sql-wasm.wasm",
        path: join(dirname(glue), "sql-wasm.wasm"),
        allocator: { how: "glue", confirmed: true },
      },
    ]);
    expect(heap?.allocations).toBeGreaterThan(50);
  });

  it("records modules in contexts of their own", async () => {
    const cwd = withScript(
      "contexts.mjs",
      `${ESM_START}
      import vm, { createContext, runInContext, Script } from "node:vm";
      const code = "const i = new WebAssembly.Instance(new WebAssembly.Module(bytes), { host: { notify() {} } });" +
        "print(i.exports.fill(2), Object.keys(i.exports).length, new ArrayBuffer(8) instanceof ArrayBuffer)";
      const world = () => ({ bytes, print: console.log });
      runInContext(code, createContext(world()));
      vm.runInNewContext(code, world(), { contextName: "other" });
      new Script(code).runInNewContext(world());
      vm.runInNewContext(code, { ...world(), WebAssembly });
      vm.runInThisContext("globalThis").print = console.log; globalThis.bytes = bytes;
      vm.runInThisContext("{" + code + "}");
      try { vm.runInNewContext("1", 3); } catch (error) { console.log(error.message); }
      try { vm.createContext(null); } catch (error) { console.log(error.message); }`,
    );
    await runBoth(cwd, "contexts.mjs");
    expect(onlyRun(cwd).modules[0].instances).toBe(5);
  });

  it("says so when no module is instantiated, and writes nothing", async () => {
    const cwd = withScript("plain.mjs", "console.log(process.argv.slice(2).join()); process.exit(3)");
    const { stderr, code } = await runBoth(cwd, "plain.mjs", "--port", "80", "-h");
    expect({ stderr, code }).toEqual({ stderr: NOTHING, code: 3 });
    expect(runFolders(cwd)).toEqual([]);
  });

  it("shows the program nothing of itself", async () => {
    const cwd = withScript(
      "look.mjs",
      `${ESM_START}
      const show = (value) => console.log(value);
      const module = new WebAssembly.Module(bytes);
      const instance = await WebAssembly.instantiate(module, imports);
      const { exports } = instance;
      show(Object.keys(exports));
      show([Object.isFrozen(exports), Object.getPrototypeOf(exports), "memshade.memory" in exports]);
      show(Object.getOwnPropertyDescriptor(exports, "fill").writable);
      show([exports === instance.exports, Object.getOwnPropertyNames(instance), exports.fill.length]);
      show([instance instanceof WebAssembly.Instance, instance.constructor === WebAssembly.Instance]);
      show([module instanceof WebAssembly.Module, module.constructor === WebAssembly.Module, String(module)]);
      show(WebAssembly.Module.exports(module));
      show(WebAssembly.Module.imports(module));
      show(WebAssembly.Module.customSections(module, "memshade").length);
      show(WebAssembly.Module.customSections(module, "name").map((section) => section.byteLength));
      for (const name of Object.getOwnPropertyNames(WebAssembly)) {
        const { value, ...attributes } = Object.getOwnPropertyDescriptor(WebAssembly, name);
        if (typeof value === "function") show([name, value.name, value.length, String(value).includes("[native code]"), attributes]);
      }
      class Own extends WebAssembly.Module { get own() { return 1; } }
      show([new Own(bytes) instanceof Own, new Own(bytes).own]);
      show([process.execArgv, Object.keys(process.env).filter((name) => /MEMSHADE|NODE_OPTIONS/.test(name))]);
      show([process.listenerCount("SIGINT"), process.listenerCount("exit"), process.eventNames().length]);
      show([process.emit.name, process.emit.length, Object.keys(process).includes("emit")]);
      show(exports.memory.buffer.byteLength);
      const other = new WebAssembly.Instance(module, imports);
      show([other.exports === exports, other.exports.memory === exports.memory]);
      show(structuredClone(module) instanceof WebAssembly.Module);
      show(Object.keys(new WebAssembly.Instance(structuredClone(module), imports).exports));`,
    );
    await runBoth(cwd, "look.mjs");
    expect(onlyRun(cwd).modules[0].instances).toBe(3);
  });

  it("lets the engine's own errors through", async () => {
    const becoming = assemble(READS_A_LOCAL_TOO_MANY);
    const cwd = withScript(
      "errors.mjs",
      `${ESM_START}
      const broken = Uint8Array.from(bytes); broken[broken.length - 3] ^= 0x55;
      const truncated = bytes.subarray(0, 40);
      // A local that the function has not, and that a profiled one would have.
      const becoming = Uint8Array.from(${JSON.stringify([...becoming])});
      const badResponse = new Response(bytes, { headers: { "content-type": "text/plain" } });
      const attempts = [
        () => WebAssembly.compile(broken), () => WebAssembly.compile(truncated), () => WebAssembly.compile(new Uint8Array()),
        () => WebAssembly.compile(), () => WebAssembly.compile("text"), () => new WebAssembly.Module(broken),
        () => new WebAssembly.Module(), () => WebAssembly.Module(bytes), () => WebAssembly.Instance(),
        () => WebAssembly.instantiate(broken, imports), () => WebAssembly.instantiate(bytes), () => WebAssembly.instantiate(bytes, 3),
        () => WebAssembly.instantiate(bytes, { host: {} }), () => WebAssembly.instantiate(bytes, null),
        async () => WebAssembly.instantiate(await WebAssembly.compile(bytes), { host: { notify: 1 } }),
        () => new WebAssembly.Instance(new WebAssembly.Module(bytes), {}), () => new WebAssembly.Instance({}, imports),
        () => WebAssembly.compileStreaming(badResponse), () => WebAssembly.compileStreaming(3),
        () => WebAssembly.compileStreaming(new Response(broken, { headers: { "content-type": "application/wasm" } })),
        () => WebAssembly.instantiateStreaming(Promise.reject(new Error("gone")), imports),
        () => WebAssembly.compile(structuredClone(new ArrayBuffer(8), { transfer: [] })),
        () => { const buffer = new ArrayBuffer(8); structuredClone(buffer, { transfer: [buffer] }); return WebAssembly.compile(buffer); },
        () => WebAssembly.Module.exports({}), () => WebAssembly.validate(broken), () => WebAssembly.validate(bytes),
        () => WebAssembly.validate(becoming), () => new WebAssembly.Module(becoming), () => WebAssembly.compile(becoming),
        () => WebAssembly.instantiate(becoming, imports),
        () => WebAssembly.compileStreaming(new Response(becoming, { headers: { "content-type": "application/wasm" } })),
        () => WebAssembly.instantiateStreaming(new Response(becoming, { headers: { "content-type": "application/wasm" } }), imports),
      ];
      for (const attempt of attempts) {
        let thrown = "thrown";
        try { const promise = attempt(); thrown = "rejected"; console.log(await promise); }
        catch (error) { console.log(thrown, error.constructor.name, error.message); }
      }`,
    );
    const { stderr } = await runBoth(cwd, "errors.mjs");
    expect(stderr).toBe(NOTHING);
  });

  it("keeps the results of calls, traps and exceptions", async () => {
    const cwd = withScript(
      "calls.mjs",
      `${ESM_START}
      const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes), { host: { notify(p) { throw new Error("at " + p); } } });
      console.log(exports.answer(1, 2), exports.fill(10), exports.malloc(8));
      for (const name of ["trap", "spin"]) try { exports[name](); } catch (error) { console.log(error.constructor.name, error.message); }
      console.log(exports.fill(1));`,
    );
    await runBoth(cwd, "calls.mjs");
    expect(onlyRun(cwd).heap?.allocations).toBe(14);
  });
});

describe("how a program under memshade node ends", () => {
  const allocate = `${ESM_START} const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes), imports); exports.fill(4);`;
  it.each([
    ["process.exit", "process.exit(5)", 5, { kind: "exit", exitCode: 5 }],
    ["process.exitCode", "process.exitCode = 6", 6, { kind: "exit", exitCode: 6 }],
    ["process.reallyExit", "process.reallyExit(7)", 7, { kind: "exit", exitCode: 7 }],
    [
      "an uncaught exception",
      "throw new TypeError('no\\nway')",
      1,
      { kind: "exception", message: "TypeError: no", exitCode: 1 },
    ],
    [
      "an unhandled rejection",
      "Promise.reject(new Error('late'))",
      1,
      { kind: "exception", message: "Error: late", exitCode: 1 },
    ],
    ["an uncaught trap", "exports.trap()", 1, { kind: "trap", message: "unreachable", exitCode: 1 }],
    [
      "a caught exception",
      "process.on('uncaughtException', () => {}); setTimeout(() => { throw 1 })",
      0,
      { kind: "exit", exitCode: 0 },
    ],
  ])("%s", async (_what, code, exitCode, end) => {
    const cwd = withScript("end.mjs", `${allocate} ${code}`);
    const { stderr, code: actual } = await runBoth(cwd, "end.mjs");
    expect(actual).toBe(exitCode);
    expect(stderr).toMatch(WRITTEN);
    const run = onlyRun(cwd);
    expect(run.end).toEqual(end);
    expect(run.heap?.liveBlocks).toBeGreaterThanOrEqual(4);
  });

  it("after the program's own exit listeners, whose work counts", async () => {
    const cwd = withScript(
      "late.mjs",
      `${ESM_START} const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes), imports);
      process.on("exit", () => { exports.fill(3); process.exitCode = 9; console.log("bye"); });`,
    );
    expect((await runBoth(cwd, "late.mjs")).code).toBe(9);
    const run = onlyRun(cwd);
    expect(run).toMatchObject({ end: { kind: "exit", exitCode: 9 }, heap: { allocations: 3 } });
  });

  it("by killing itself", async () => {
    const cwd = withScript(
      "kill.mjs",
      `${allocate} process.kill(process.pid, "SIGTERM"); console.log("not reached");`,
    );
    const { signal, stdout } = await memshade(["node", "kill.mjs"], { cwd });
    expect({ signal, stdout }).toEqual({ signal: "SIGTERM", stdout: "" });
    expect(onlyRun(cwd).end).toEqual({ kind: "signal", signal: "SIGTERM" });
  });
});

describe("options of memshade node", () => {
  const script = `${ESM_START} const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes), imports);
    exports.fill(2); console.log(typeof gc, process.execArgv.join());`;

  it("hands options to Node and expands the name of the folder", async () => {
    const cwd = withScript("gc.mjs", script);
    const args = ["--node-arg=--expose-gc", "--out", "runs/%q{WHO}-%n%%", "--exact-histogram", "gc.mjs"];
    const { stdout, stderr } = await memshade(["node", ...args], { cwd, env: { WHO: "me" } });
    expect(stdout).toBe("function --expose-gc\n");
    expect(stderr).toMatch(
      "memshade: profile written to runs/me-1%; see it with: memshade report runs/me-1%\n",
    );
    expect(readRun(join(cwd, "runs/me-1%")).tools.heap?.counters).toBe("exact");
  });

  it("writes the same bytes for two runs of the same program, but for what its process took", async () => {
    const cwd = withScript("gc.mjs", script);
    const folders = ["one", "two"].map((name) => join(cwd, name));
    for (const out of ["one", "two"])
      await memshade(["node", "--tool", "heap,waste,workingset", "--out", out, "gc.mjs"], { cwd });
    const [one, two] = folders.map((folder) => readdirSync(folder).sort());
    const names = [
      "heap.memprofraw",
      "heapintervals.json",
      "measured.json",
      "retainers.json",
      "run.json",
      "waste.json",
      "workingset.json",
    ];
    expect([one, two]).toEqual([names, names]);
    for (const name of names.filter((name) => name !== "measured.json")) {
      const [first, second] = folders.map((folder) => readFileSync(join(folder, name)));
      expect(first.equals(second), name).toBe(true);
    }
  });

  it("tells the time that rewriting took in threads of the program too", async () => {
    const cwd = withScript(
      "thread.cjs",
      `const { isMainThread, Worker } = require("node:worker_threads");
      if (isMainThread) new Worker(__filename);
      else {
        const compiled = new WebAssembly.Module(require("node:fs").readFileSync("library.wasm"));
        new WebAssembly.Instance(compiled, { host: { notify() {} } });
      }`,
    );
    await memshade(["node", "--out", "here", "thread.cjs"], { cwd });
    const { process: cost } = readMeasured(readFileSync(join(cwd, "here/measured.json"), "utf8"));
    expect(cost!.rewritingMs).toBeGreaterThan(0);
    expect(cost!.processorMs).toBeGreaterThanOrEqual(cost!.rewritingMs + cost!.profileMs);
  });

  it("empties small tables in time, in the main thread and in workers", async () => {
    const cwd = withScript(
      "sites.cjs",
      `const { WASI } = require("node:wasi");
      const { isMainThread, Worker } = require("node:worker_threads");
      const wasi = new WASI({ version: "preview1" });
      const compiled = new WebAssembly.Module(require("node:fs").readFileSync("sites.wasm"));
      wasi.start(new WebAssembly.Instance(compiled, wasi.getImportObject()));
      if (isMainThread) new Worker(__filename);`,
    );
    writeProgram(cwd, "sites.wasm", manySites(40));
    const { code } = await memshade(["node", "--max-contexts", "4", "sites.cjs"], { cwd });
    expect(code).toBe(0);
    const { modules, heap } = onlyRun(cwd);
    expect(modules[0].instances).toBe(2);
    expect(heap).toMatchObject({ allocations: 80, frees: 80, overflow: { contexts: 0 } });
    // Each thread has its own callers.
    expect(heap?.sites).toHaveLength(80);
  });

  it("refuses a place holder that cannot be filled, before the program runs", async () => {
    const cwd = withScript("gc.mjs", script);
    const { stdout, stderr, code } = await memshade(["node", "--out", "%q{NOBODY}", "gc.mjs"], { cwd });
    expect({ stdout, code }).toEqual({ stdout: "", code: 2 });
    expect(stderr).toBe("memshade: --out: %q{NOBODY}: the environment variable is not set\n");
  });

  it("runs a module that it cannot instrument as it is, and says so once", async () => {
    // The section marks the module as instrumented.
    const marked = script
      .replace(
        'readFileSync("library.wasm")',
        'Buffer.concat([readFileSync("library.wasm"), Buffer.from("\\0\\x09\\x08memshade")])',
      )
      .concat(" new WebAssembly.Instance(new WebAssembly.Module(bytes), imports);");
    const cwd = withScript("gc.mjs", marked);
    const { stdout, stderr, code } = await memshade(["node", "gc.mjs"], { cwd });
    expect({ stdout, code }).toEqual({ stdout: "undefined \n", code: 0 });
    expect(stderr).toMatch(/^memshade: .* runs without being profiled: .*instrumented already.*\n$/);
    expect(runFolders(cwd)).toEqual([]);
  });
});

describe("dump() and reset() inside a program", () => {
  it("write a folder, and forget", async () => {
    const library = pathToFileURL(new URL("../../src/index.ts", import.meta.url).pathname).href;
    const cwd = withScript(
      "own.mjs",
      `import { dump, reset } from ${JSON.stringify(library)}; ${ESM_START}
      const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes), imports);
      exports.fill(2); for (let i = 0; i < 3; i++) exports.free(exports.malloc(8));
      const first = dump();
      console.log(first.run.heap.allocations, first.raw.length > 100, first.toolFiles.length);
      reset(); exports.fill(1);
      console.log(dump().run.heap.allocations, first.folder.endsWith(".dump1"));`,
    );
    const { stdout, stderr } = await memshade(["node", "own.mjs"], { cwd });
    expect(stdout).toBe("5 true 2\n3 true\n");
    expect(stderr).toContain("memshade: dump written to memshade.out/own.");
    const names = runFolders(cwd);
    expect(names.map((name) => name.replace(/\d+(?=$|\.)/, "PID"))).toEqual([
      "own.PID",
      "own.PID.dump1",
      "own.PID.dump2",
    ]);
    expect(readRun(join(cwd, "memshade.out", names[0])).heap?.allocations).toBe(3);
    expect(readRun(join(cwd, "memshade.out", names[1])).end).toEqual({ kind: "dump" });
  });

  it("do nothing in a plain run", async () => {
    const library = pathToFileURL(new URL("../../src/index.ts", import.meta.url).pathname).href;
    const cwd = withScript(
      "own.mjs",
      `import { dump, reset } from ${JSON.stringify(library)}; reset(); console.log(dump());`,
    );
    expect((await startNode(["own.mjs"], { cwd, input: "" }).ended).stdout).toBe("undefined\n");
    expect(existsSync(join(cwd, "memshade.out"))).toBe(false);
  });
});
