import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { MAIN } from "../command.ts";
import { memshade, newFolder, type Outcome } from "./support/command-line.ts";
import { LIBRARY, wasiProgram, writeProgram } from "./support/programs.ts";

const isBuilt = MAIN.endsWith(".js");
if (!isBuilt) console.warn("SKIPPED: the command is not built: sources cache no modules");

/** Members of `measured.json` that differ from run to run, with or without the cache. */
const MEASURED = ["peakBytes", "processorMs", "rewritingMs", "profileMs"];

const PROGRAMS: Readonly<Record<string, readonly string[]>> = {
  "a Node program": ["node", "app.cjs"],
  "a Node program with threads": ["node", "threads.cjs"],
  "a WASI program": ["run", "program.wasm"],
};
const TOOLS = "heap,waste,workingset";

describe.skipIf(!isBuilt)("modules that an earlier run has rewritten", () => {
  let cwd: string;
  let cache: string;
  const modules = (): string[] => {
    const folder = join(cache, "memshade/modules");
    return existsSync(folder) ? readdirSync(folder).sort() : [];
  };
  const start = ([verb, ...program]: readonly string[], ...options: string[]): Promise<Outcome> =>
    memshade([verb!, ...options, ...program], { cwd, env: { XDG_CACHE_HOME: cache } });

  beforeEach(() => {
    cwd = newFolder();
    cache = newFolder();
    writeProgram(cwd, "library.wasm", LIBRARY);
    writeProgram(cwd, "program.wasm", wasiProgram("(call $leak (i32.const 100)) (call $say_ready)"));
    writeFileSync(
      join(cwd, "app.cjs"),
      `const bytes = require("fs").readFileSync("library.wasm");
       const load = (bytes) => new WebAssembly.Instance(new WebAssembly.Module(bytes), { host: { notify() {} } });
       console.log(load(bytes).exports.fill(9), WebAssembly.Module.exports(new WebAssembly.Module(bytes)).length);`,
    );
    writeFileSync(
      join(cwd, "threads.cjs"),
      `const { Worker, isMainThread } = require("worker_threads");
       if (isMainThread) new Worker(__filename);
       else require("./app.cjs");`,
    );
  });

  for (const [kind, program] of Object.entries(PROGRAMS))
    it(`give the same files of a run, but for what is measured: ${kind}`, async () => {
      const runs: Record<string, Outcome> = {};
      for (const options of [["--no-cache"], ["--out", "first"], ["--out", "second"]]) {
        const out = options[1] ?? "without";
        runs[out] = await start(program, "--tool", TOOLS, "--out", out, ...options);
      }
      expect(runs.without!.code, runs.without!.stderr).toBe(0);
      expect(modules()).toHaveLength(1);
      for (const out of ["first", "second"]) {
        expect(runs[out]!.stdout).toBe(runs.without!.stdout);
        expect(runs[out]!.stderr.replaceAll(out, "without")).toBe(runs.without!.stderr);
        expect(filesOf(join(cwd, out))).toEqual(filesOf(join(cwd, "without")));
      }
    });

  it("are not cached with --no-cache", async () => {
    expect(await start(PROGRAMS["a Node program"]!, "--no-cache")).toMatchObject({ code: 0 });
    expect(await start(PROGRAMS["a WASI program"]!, "--no-cache")).toMatchObject({ code: 0 });
    expect(modules()).toEqual([]);
  });

  it("are written once by runs at the same time, and each has its profile", async () => {
    const program = PROGRAMS["a Node program"]!;
    const all = await Promise.all([1, 2, 3].map((i) => start(program, "--out", `run-${i}`)));
    expect(all.map(({ code }) => code)).toEqual([0, 0, 0]);
    expect(modules()).toEqual([expect.stringMatching(/^[0-9a-f]{32} heap library\.wasm$/)]);
    expect(filesOf(join(cwd, "run-2"))).toEqual(filesOf(join(cwd, "run-1")));
    expect(filesOf(join(cwd, "run-3"))).toEqual(filesOf(join(cwd, "run-1")));
  });

  it("are made again without a word if their files are damaged, or the cache is no folder", async () => {
    const program = PROGRAMS["a WASI program"]!;
    const { stderr } = await start(program, "--out", "run");
    const [name] = modules();
    const path = join(cache, "memshade/modules", name!);
    const size = statSync(path).size;
    writeFileSync(path, readFileSync(path).fill(0, size >> 1));
    expect(await start(program, "--out", "run")).toMatchObject({ code: 0, stdout: "ready\n", stderr });
    expect(statSync(path).size).toBe(size);
    const other = join(newFolder(), "file");
    writeFileSync(other, "");
    cache = other;
    expect(await start(program, "--out", "run")).toMatchObject({ code: 0, stdout: "ready\n", stderr });
  });

  it("leave an allocator that does not fit the user's mistake that it is", async () => {
    const program = PROGRAMS["a Node program"]!;
    const outcomes = [];
    for (const out of ["run", "run"])
      outcomes.push(await start(program, "--out", out, "--allocator", "malloc=none,free=free"));
    expect(outcomes[0]!.code).toBe(2);
    expect(outcomes[1]).toEqual(outcomes[0]);
  });

  it("leave a module that the engine refuses to the engine", async () => {
    writeFileSync(
      join(cwd, "broken.cjs"),
      `const bytes = require("fs").readFileSync("library.wasm");
       bytes[bytes.length - 1] ^= 1;
       try { new WebAssembly.Module(bytes); } catch (error) { console.log(error.name); }
       require("./app.cjs");`,
    );
    for (const _ of [1, 2]) {
      const { stdout, stderr } = await start(["node", "broken.cjs"], "--out", "run");
      expect(stdout).toContain("CompileError\n");
      expect(stderr).not.toContain("without being profiled");
    }
  });

  it("are listed and cleared by memshade cache", async () => {
    const list = () => start(["cache"]);
    const empty = await list();
    expect(empty).toMatchObject({ code: 0, stdout: expect.stringContaining(`${cache}/memshade: `) });
    expect(empty.stdout).not.toContain("Rewritten");
    await start(PROGRAMS["a Node program"]!, "--out", "run");
    await start(PROGRAMS["a WASI program"]!, "--out", "run", "--tool", "heap,waste");
    copyFileSync(join(cwd, "app.cjs"), join(cache, "memshade/modules/.half.1.partial"));
    const native = join(cache, "memshade/native/rewritten/key");
    mkdirSync(native, { recursive: true });
    writeFileSync(
      join(native, "entry.json"),
      `{"about":{"file":"/usr/bin/pro\\u001bgram","tool":"heap"},"facts":{}}`,
    );
    const { stdout, stderr } = await list();
    expect(stderr).toBe("");
    expect(stdout).toMatch(
      /^Rewritten WebAssembly modules: .* KiB of at most 1\.00 GiB\n +size +used +tool +name$/m,
    );
    expect(stdout).toMatch(/^ +\S+ KiB +0 min ago +heap +library\.wasm$/m);
    expect(stdout).toMatch(/^ +\S+ KiB +0 min ago +heap, waste +program\.wasm$/m);
    expect(stdout).toMatch(/^Rewritten native programs and libraries: .* B of at most 4\.00 GiB$/m);
    expect(stdout).toMatch(/^ +\S+ B +0 min ago +heap +\/usr\/bin\/pro\ufffdgram$/m);
    expect(await start(["cache", "clear"])).toMatchObject({
      code: 0,
      stdout: "",
      stderr: expect.stringMatching(/^memshade: \S+ [KM]iB removed from \S+\n$/),
    });
    expect(modules()).toEqual([".half.1.partial"]);
    expect(existsSync(native)).toBe(false);
    expect(await start(["cache", "sweep"])).toMatchObject({ code: 2 });
  });
});

/** Contents of a run's files by name, without what is measured. */
function filesOf(folder: string): Record<string, unknown> {
  return Object.fromEntries(
    readdirSync(folder)
      .sort()
      .map((name) => {
        const bytes = readFileSync(join(folder, name));
        if (name !== "measured.json") return [name, bytes.toString("latin1")];
        const { presence, ...rest } = JSON.parse(bytes.toString());
        for (const member of MEASURED) {
          expect(typeof rest[member], member).toBe("number");
          delete rest[member];
        }
        expect(presence).toBeUndefined();
        return [name, rest];
      }),
  );
}
