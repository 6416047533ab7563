import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { memshade, newFolder, onlyRun, runFolders } from "./support/command-line.ts";
import { LIBRARY, writeProgram } from "./support/programs.ts";

async function record(files: Record<string, string>, args: readonly string[], wasm = "library.wasm") {
  const cwd = newFolder();
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(cwd, name, ".."), { recursive: true });
    writeFileSync(join(cwd, name), text);
  }
  mkdirSync(join(cwd, wasm, ".."), { recursive: true });
  writeProgram(cwd, wasm, LIBRARY);
  const { stdout, stderr, code } = await memshade(["node", ...args], { cwd });
  expect(code, stderr).toBe(0);
  const folder = join("memshade.out", runFolders(cwd)[0]);
  const report = await memshade(["report", folder], { cwd });
  expect(report.code, report.stderr).toBe(0);
  const bytes = readFileSync(join(cwd, folder, "heap.memprofraw"));
  return { stdout, ...onlyRun(cwd), report: report.stdout, cwd, folder, bytes };
}

const PACKAGE = `
  const { readFileSync } = require("node:fs");
  const bytes = readFileSync(__dirname + "/library.wasm");
  const { exports: wasm } = new WebAssembly.Instance(new WebAssembly.Module(bytes), { host: { notify() {} } });
  exports.Part = class Part {
    constructor(size) { this.block = wasm.malloc(size); }
    fill(count) { return wasm.fill(count); }
    delete() { wasm.free(this.block); }
  };`;

const APP = `const { Part } = require("parts");
function makePart(size) {
  return new Part(size);
}
function careful() {
  makePart(100).delete();
}
makePart(4000);
careful();
`;

describe("the report of a program that uses an npm package", () => {
  it("names the line of the program that forgot to give back, and who called", async () => {
    const { report } = await record(
      { "node_modules/parts/index.js": PACKAGE, "part.cjs": APP },
      ["part.cjs"],
      "node_modules/parts/library.wasm",
    );
    const live = report.slice(report.indexOf("Still live at the end"));
    expect(live).toMatch(
      /3\.91 KiB +100 % .* makePart \(part\.cjs:3\) via malloc\n(?:.*\n)?.*1 of 2 blocks ← top level \(part\.cjs:8\)/,
    );
  });

  it("names a module of one's own by its own function", async () => {
    const { report } = await record(
      {
        "main.cjs": `
          const { readFileSync } = require("node:fs");
          const compiled = new WebAssembly.Module(readFileSync("library.wasm"));
          const { exports: wasm } = new WebAssembly.Instance(compiled, { host: { notify() {} } });
          function load() { wasm.fill(3); }
          load();`,
      },
      ["main.cjs"],
    );
    expect(report).toMatch(/72 B +100 % .* fill\n(.*\n){2,3}.*← load \(main\.cjs:5\)/);
  });

  it("has rules for whose code is whose that the user can change", async () => {
    const { cwd, folder } = await record(
      { "node_modules/parts/index.js": PACKAGE, "part.cjs": APP },
      ["part.cjs"],
      "node_modules/parts/library.wasm",
    );
    const own = await memshade(["report", folder, "--own", "node_modules/parts/"], { cwd });
    expect(own.stdout).toMatch(/new Part \(index\.js:6\) via malloc/);
    const other = await memshade(["report", folder, "--library", "makePart"], { cwd });
    expect(other.stdout).toMatch(/top level \(part\.cjs:8\) via malloc/);
  });
});

describe("places in scripts", () => {
  it("are those of the source that a map beside the script names, with the names from there", async () => {
    // Written by hand: \`function a(){…}\` in line 1 of the script is \`makePart\` in line 7 of part.ts.
    const script = `const{Part:t}=require("parts");function a(){return new t(9)}a();\n//# sourceMappingURL=part.cjs.map\n`;
    const map = {
      version: 3,
      sources: ["src/part.ts"],
      names: ["makePart"],
      // Columns 0, 31 (function), 40 (its name), 44 (its body), 59 (the call).
      mappings: "AAAA,+BAMA,SAAAA,IACE,eAGFA",
    };
    const { report, host } = await record(
      {
        "node_modules/parts/index.js": PACKAGE,
        "part.cjs": script,
        "part.cjs.map": JSON.stringify(map),
      },
      ["part.cjs"],
      "node_modules/parts/library.wasm",
    );
    const frame = host!.frames.find(({ source }) => source?.name === "makePart");
    expect(frame?.source?.file).toMatch(/[\\/]src[\\/]part\.ts$/);
    expect(frame?.line).toBe(1);
    expect(report).toMatch(/makePart \(part\.ts:8\) via malloc/);
  });

  it("are those that Node knows of what it transforms itself", async () => {
    const source = `import { createRequire } from "node:module";
enum Size { Small = 100 }
interface Sized { size: number }
const { Part } = createRequire(import.meta.url)("parts");
function makePart({ size }: Sized): unknown {
  return new Part(size);
}
makePart({ size: Size.Small });
`;
    const { report } = await record(
      { "node_modules/parts/index.js": PACKAGE, "part.mts": source },
      ["--node-arg=--experimental-transform-types", "--node-arg=--no-warnings", "part.mts"],
      "node_modules/parts/library.wasm",
    );
    expect(report).toMatch(/makePart \(part\.mts:6\) via malloc/);
  });
});

describe("callers in JavaScript", () => {
  const MANY = `${PACKAGE.replaceAll("exports.Part =", "const Part =").replace('__dirname + "/', '"')}
    const often = () => new Part(16).delete();
    const seldom = () => new Part(64);
    for (let i = 0; i < 3000; i++) { often(); if (i % 100 === 99) seldom(); }`;

  it("are the same in two runs, of a sample and of all", async () => {
    for (const how of ["sampled", "exact"]) {
      const [one, two] = [
        await record({ "many.cjs": MANY }, ["--host-stacks", how, "many.cjs"]),
        await record({ "many.cjs": MANY }, ["--host-stacks", how, "many.cjs"]),
      ];
      const text = ({ host, cwd }: typeof one) => JSON.stringify(host).replaceAll(cwd, "");
      expect(text(one)).toBe(text(two));
      expect(one.heap).toEqual(two.heap);
    }
  });

  it("are told to be estimated where a sample was asked", async () => {
    const sampled = await record({ "many.cjs": MANY }, ["many.cjs"]);
    expect(sampled.report).toMatch(
      /Callers +in JavaScript: sampled at [\d,]+ of 3,030 calls; figures with ≈ are\s+estimates/,
    );
    expect(sampled.report).toMatch(/ ≈\S+ KiB/);
    const exact = await record({ "many.cjs": MANY }, ["--host-stacks", "exact", "many.cjs"]);
    expect(exact.report).not.toContain("Callers");
    const off = await record({ "many.cjs": MANY }, ["--host-stacks", "off", "many.cjs"]);
    expect(off.host).toBeUndefined();
    expect(off.report).not.toContain("many.cjs:");
  });

  it("go on behind an await", async () => {
    const { report } = await record(
      {
        "node_modules/parts/index.js": PACKAGE,
        "later.mjs": `
          import { createRequire } from "node:module";
          const { Part } = createRequire(import.meta.url)("parts");
          async function waits() { await null; return new Part(24); }
          async function outer() { return [await waits()]; }
          await outer();`,
      },
      ["later.mjs"],
      "node_modules/parts/library.wasm",
    );
    expect(report).toMatch(/waits \(later\.mjs:4\) via malloc/);
    expect(report).toContain("← async outer (later.mjs:5)");
  });

  it("are told of callbacks: of collected objects, timers, promises and asynchronous loops", async () => {
    const { report } = await record(
      {
        "node_modules/parts/index.js": PACKAGE,
        "callbacks.mjs": `
          import { createRequire } from "node:module";
          import { setTimeout as sleep } from "node:timers/promises";
          const { Part } = createRequire(import.meta.url)("parts");
          const registry = new FinalizationRegistry(function finalize() { new Part(1000); });
          function forget() { registry.register({}, 1); }
          forget();
          for (let i = 0; i < 5; i++) { globalThis.gc(); await sleep(1); }
          async function leaf() { await null; return new Part(2000); }
          async function both() { return await Promise.all([leaf(), leaf()]); }
          await both();
          async function* parts() { await null; yield new Part(3000); }
          async function each() { for await (const part of parts()) part.delete(); }
          await each();
          await new Promise((done) => setTimeout(function later() { done(new Part(4000)); }, 1));`,
      },
      ["--node-arg=--expose-gc", "callbacks.mjs"],
      "node_modules/parts/library.wasm",
    );
    expect(report).toMatch(/ 1,000 B .* finalize \(callbacks\.mjs:5\) via malloc/);
    expect(report).toMatch(
      / leaf \(callbacks\.mjs:9\) via malloc\n(.*\n)*?.*← async both \(callbacks\.mjs:10\)/,
    );
    expect(report).toMatch(
      / parts \(callbacks\.mjs:12\) via malloc\n(.*\n)*?.*← async each \(callbacks\.mjs:13\)/,
    );
    expect(report).toMatch(/ later \(callbacks\.mjs:15\) via malloc/);
  });

  it("are those of each module where two are on one stack", async () => {
    const { report } = await record(
      {
        "two.cjs": `
          const { readFileSync } = require("node:fs");
          const bytes = readFileSync("library.wasm");
          // Of another build id, and so another module.
          const other = Buffer.concat([bytes, Buffer.from([0, 2, 1, 65])]);
          const make = (from, notify) =>
            new WebAssembly.Instance(new WebAssembly.Module(from), { host: { notify } }).exports;
          const inner = make(other, () => {});
          const outer = make(bytes, function between() { inner.malloc(500); throw new Error("enough"); });
          function program() { try { outer.spin(); } catch {} }
          program();`,
      },
      ["two.cjs"],
    );
    expect(report).toMatch(
      / 500 B .* between \(two\.cjs:9\) via malloc\n(.*\n)*?.*← program \(two\.cjs:10\)/,
    );
    expect(report).toMatch(/ 40 B .* spin\n(.*\n)*?.*← program \(two\.cjs:10\)/);
  });

  it.each([
    // With a frozen Error, the engine gives ten frames at most.
    ["Error is frozen", "Object.freeze(Error);", "new Part"],
    [
      "the program's own Error.prepareStackTrace throws",
      "Error.prepareStackTrace = () => { throw 1; };",
      "make",
    ],
    ["it enters the module", "Error.prepareStackTrace = () => wasm.malloc(1e6);", "make"],
    ["no frames are wanted", "Error.stackTraceLimit = 0;", "make"],
    [
      "Error has accessors",
      `for (const key of ["stackTraceLimit", "prepareStackTrace"])
         Object.defineProperty(Error, key, { get: () => { console.log("asked"); }, configurable: true });`,
      "make",
    ],
  ])("are found, and the program sees nothing of it, where %s", async (_what, hostile, name) => {
    const start = PACKAGE.replaceAll("exports.Part =", "const Part =").replace('__dirname + "/', '"');
    const describe =
      'JSON.stringify(["stackTraceLimit", "prepareStackTrace"].map((key) => { const { value, ...others } = Object.getOwnPropertyDescriptor(Error, key) ?? {}; return [String(value), Object.keys(others)]; }))';
    const { stdout, heap, host } = await record(
      {
        "hostile.cjs": `${start}
          ${hostile}
          const before = ${describe};
          const make = () => new Part(16);
          make();
          console.log(before === ${describe});`,
      },
      ["hostile.cjs"],
    );
    expect(stdout).toBe("true\n");
    expect(heap).toMatchObject({ allocations: 1, allocatedBytes: 16 });
    expect(host?.frames.map((frame) => frame.name)).toContain(name);
  });
});
