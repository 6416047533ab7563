import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { readRaw } from "../../src/profile/formats/memprof-raw/index.ts";
import type { Mib } from "../../src/profile/model/mib.ts";
import { memshade, newFolder, onlyRun, runFolders } from "./support/command-line.ts";

const MAILBOX = fileURLToPath(new URL("../fixtures/programs/threads/mailbox.wasm", import.meta.url));

const START = `
  const { readFileSync } = require("node:fs");
  const { Worker, isMainThread, parentPort, workerData } = require("node:worker_threads");
  const compile = () => new WebAssembly.Module(readFileSync("mailbox.wasm"));
  const newMemory = () => new WebAssembly.Memory({ initial: 17, maximum: 1024, shared: true });
  let threads = 0;
  const join = (module, memory) => {
    const { exports } = new WebAssembly.Instance(module, { env: { memory } });
    exports.__stack_pointer.value = 1048576 - 65536 * (workerData?.number ?? threads++);
    return exports;
  };
  const inWorker = (data) => new Promise((done) => new Worker(__filename, { workerData: data }).on("exit", done));
`;

async function run(script: string, options: readonly string[] = []) {
  const cwd = newFolder();
  copyFileSync(MAILBOX, join(cwd, "mailbox.wasm"));
  writeFileSync(join(cwd, "main.cjs"), START + script);
  const { stdout, stderr, code } = await memshade(["node", ...options, "main.cjs"], { cwd });
  expect(code, stderr).toBe(0);
  expect(stderr).not.toContain("nothing was written");
  const folder = join(cwd, "memshade.out", runFolders(cwd)[0]);
  const { contexts } = readRaw(new Uint8Array(readFileSync(join(folder, "heap.memprofraw"))));
  return { stdout, ...onlyRun(cwd), mibs: contexts.map(({ mib }): Mib => mib) };
}

describe("threads that share a memory", () => {
  it.each([
    ["by default", []],
    ["by the wall clock", ["--clock", "wall"]],
    ["with histograms", ["--exact-histogram"]],
    ["with full tables", ["--max-contexts", "2"]],
  ])(
    "free each other's blocks: allocations, releases and live blocks are the program's own, %s",
    async (_how, options) => {
      const { stdout, heap, modules, notTracked } = await run(
        `if (isMainThread) (async () => {
          const [module, memory] = [compile(), newMemory()];
          const wasm = join(module, memory);
          const others = [1, 2, 3].map((number) => inWorker({ module, memory, number }));
          wasm.exchange(5000, 99);
          await Promise.all(others);
          const [allocations, frees, reallocations] = [0, 1, 2].map((what) => wasm.count_of(what));
          console.log(JSON.stringify({ allocations: allocations + reallocations, frees: frees + reallocations, liveBlocks: wasm.live() }));
        })();
        else join(workerData.module, workerData.memory).exchange(5000, workerData.number);`,
        options,
      );
      const counted = JSON.parse(stdout);
      expect(counted.allocations).toBeGreaterThan(20_000);
      expect(heap).toMatchObject(counted);
      expect(modules).toMatchObject([{ instances: 4, allocator: { confirmed: true } }]);
      expect(notTracked).toEqual([]);
    },
  );

  it("are the processors of their blocks, by MemProf's rules", async () => {
    const { mibs } = await run(`
      if (isMainThread) (async () => {
        const [module, memory] = [compile(), newMemory()];
        const wasm = join(module, memory);
        const blocks = [1, 2, 3].map(() => wasm.make(24));
        wasm.touch(blocks[0], 2);
        await inWorker({ module, memory, number: 1, block: blocks[0] });
        wasm.drop(blocks[1]);
        wasm.drop(blocks[2]);
      })();
      else {
        const wasm = join(workerData.module, workerData.memory);
        wasm.touch(workerData.block, 5);
        wasm.drop(workerData.block);
      }`);
    // The first block migrated. The second was freed by another thread than the block before; the third was not.
    expect(mibs).toMatchObject([
      {
        allocCount: 3,
        numMigratedCpu: 1,
        numSameAllocCpu: 2,
        numSameDeallocCpu: 1,
        allocCpuId: 0,
        deallocCpuId: 0,
        numLifetimeOverlaps: 1,
        // `make` wrote each block once; the first was read and written 7 more times.
        totalAccessCount: 3n + 14n,
        minAccessCount: 1n,
        maxAccessCount: 15n,
      },
    ]);
  });

  it("may be instances in one thread; another memory is another program", async () => {
    const { stdout, heap, modules, mibs } = await run(
      `
      const code = compile();
      const memory = newMemory();
      const [first, second] = [join(code, memory), join(code, memory)];
      const apart = join(code, newMemory());
      second.drop(first.make(24));
      apart.make(100);
      console.log(WebAssembly.Module.imports(code).length, Object.keys(first).filter((name) => name.startsWith("memshade")));`,
      ["--host-stacks", "off"],
    );
    expect(stdout).toBe("1 []\n");
    expect(heap).toMatchObject({ allocations: 2, frees: 1, liveBlocks: 1, liveBytes: 100 });
    expect(modules).toMatchObject([{ instances: 3 }]);
    expect(mibs).toMatchObject([{ allocCount: 2, numMigratedCpu: 1, allocCpuId: 2, deallocCpuId: 2 }]);
  });

  it("keep their own calling contexts while they run at the same time", async () => {
    const { mibs, heap } = await run(
      `
      if (isMainThread) (async () => {
        const [module, memory] = [compile(), newMemory()];
        const wasm = join(module, memory);
        const others = [1, 2].map((number) => inWorker({ module, memory, number }));
        for (let i = 0; i < 4000; i++) wasm.drop(wasm.make(8));
        await Promise.all(others);
      })();
      else join(workerData.module, workerData.memory).exchange(2000, workerData.number);`,
      ["--host-stacks", "off"],
    );
    expect(heap?.sites).toHaveLength(3);
    // The calls: make from the host, exchange from the host, and make from exchange.
    expect(mibs.map(({ allocCount }) => allocCount)).toContain(4000);
  });

  it("have callers of their own", async () => {
    const { heap, host, mibs } = await run(
      `
      const inMain = (wasm) => wasm.drop(wasm.make(8));
      const inOther = (wasm) => wasm.drop(wasm.make(16));
      if (isMainThread) (async () => {
        const [module, memory] = [compile(), newMemory()];
        const wasm = join(module, memory);
        const others = [1, 2].map((number) => inWorker({ module, memory, number }));
        for (let i = 0; i < 1000; i++) inMain(wasm);
        await Promise.all(others);
      })();
      else {
        const wasm = join(workerData.module, workerData.memory);
        for (let i = 0; i < 1000; i++) inOther(wasm);
      }`,
      ["--host-stacks", "exact"],
    );
    expect(host).toMatchObject({ mode: "exact", asked: 3000, leftOut: 0 });
    expect(mibs.map(({ minSize, allocCount }) => [minSize, allocCount]).sort()).toEqual([
      [16, 2000],
      [8, 1000],
    ]);
    expect(host!.frames.map(({ name }) => name)).toEqual(expect.arrayContaining(["inMain", "inOther"]));
    expect(heap).toMatchObject({ allocations: 3000, frees: 3000 });
  });
});
