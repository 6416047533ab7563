import fs from "node:fs";
import path from "node:path";
import { createRunSymbolizer } from "../src/names/symbolize/run-functions.ts";
import { heapProfileFromRaw, type RawProfile, writeRaw } from "../src/profile/formats/memprof-raw/index.ts";
import {
  addCapacity,
  addGrowth,
  type BlockGrowth,
  NO_CAPACITY,
  NO_GROWTH,
} from "../src/profile/model/growth.ts";
import type { HeapProfile } from "../src/profile/model/heap-profile.ts";
import { blockMib, mergeMib } from "../src/profile/model/mib.ts";
import type { HeapReach, Run, RunHeap, RunModule, RunReach, RunSite } from "../src/profile/model/run.ts";

/**
 * A run drawn as text: one line per allocation context, with the call path from the root to the function that
 * allocates, then its blocks.
 * main > exec > parse            100 x 64    life 1    access 6
 * main > cache                     8 x 4096  life 900  access 10  peak 8  live 2
 * main > lib!open > ^lib!malloc    1 x 8
 * `100 x 64` is the number of blocks and the size of each. `life` and `access` hold for each block. The other figures are numbers of
 * blocks,
 * unless stated otherwise; figures that are missing are 0.
 * - `peak`, `live`: live at the peak and at the end; `temporary` is counted if every line has it; `reallocated` blocks replaced another
 * - `unused`, `unread`: never accessed; written but never read
 * - `lost`, `indirect`, `possible`, `reachable`: kinds of live blocks; `behind`: lost blocks that these lost ones lead to; `late`: those of
 * them that were allocated in the second half of the run
 * - `chains` of blocks that grew needed `copies` copies of `copied` bytes in all, and ended in blocks of the given size, of
 * which `used` bytes were used; `spare`: bytes behind the last one used, of all blocks
 * - `touched`: granules; `collected`: blocks released by the host's collector after a wait of `lasted` each (default: no wait)
 * `module!function` names a module other than `app`, `function@2` its second call, `^function` a function that the host called itself.
 * A function called `malloc` is the module's allocator.
 */
export interface HeapPicture {
  run: Run;
  raw: RawProfile;
}

interface Row {
  frames: string[];
  blocks: number;
  size: number;
  facts: Map<string, number>;
}

const MODULE_DISTANCE = 2n ** 32n;
const FUNCTION_BYTES = 0x100;

export function heapPicture(
  picture: string,
  changes: Partial<Run> = {},
  heap: Partial<RunHeap> = {},
): HeapPicture {
  const rows = picture
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .map(parseRow);
  const code = new PictureCode();
  const contexts = rows.map(({ frames, blocks, size, facts }, index) => ({
    stackId: BigInt(index + 1),
    mib: mibOf(blocks, size, facts),
    pcs: frames.map((frame) => code.pc(frame)).reverse(),
  }));
  const sites = rows.map(siteOf);
  const modules = code.modules();
  return {
    raw: {
      version: 4,
      segments: modules.map(({ start, codeBytes, buildId }) => ({
        start: BigInt(start),
        end: BigInt(start) + BigInt(codeBytes),
        offset: BigInt(start),
        buildId: Uint8Array.from(Buffer.from(buildId, "hex")),
      })),
      contexts,
    },
    run: {
      schema: "memshade-run",
      version: 1,
      memshade: "0.1.0",
      command: ["memshade", "run", "app.wasm"],
      program: "app",
      tools: {
        heap: {
          clock: { kind: "virtual", unit: "allocations" },
          counters: "merged",
          granuleBytes: 8,
          includeStack: false,
          includeAllocator: false,
        },
      },
      end: { kind: "exit", exitCode: 0 },
      modules,
      heap: { ...totalsOf(rows, sites), ...heap },
      notTracked: [],
      files: { heap: "heap.memprofraw" },
      ...changes,
    },
  };
}

export function profileOfPicture(...picture: Parameters<typeof heapPicture>): HeapProfile {
  const { raw, run } = heapPicture(...picture);
  return heapProfileFromRaw(raw, run, (modules) => createRunSymbolizer(modules, run, (name) => name));
}

/** The profile of a picture from its raw file alone, without run.json. */
export function rawProfileOfPicture(picture: string): HeapProfile {
  const { raw } = heapPicture(picture);
  return heapProfileFromRaw(raw, undefined, (modules) =>
    createRunSymbolizer(modules, undefined, (name) => name),
  );
}

export function writePicture(directory: string, { run, raw }: HeapPicture): string {
  fs.mkdirSync(directory, { recursive: true });
  fs.writeFileSync(path.join(directory, "run.json"), JSON.stringify(run));
  fs.writeFileSync(path.join(directory, "heap.memprofraw"), writeRaw(raw, 4));
  return directory;
}

function parseRow(line: string): Row {
  const match = /^(.*?)\s+(\d+) x (\d+)((?:\s+[a-z]+ \d+)*)$/.exec(line);
  if (match === null) throw new Error(`not a line of a heap picture: ${line}`);
  const [, frames, blocks, size, facts] = match as unknown as [string, string, string, string, string];
  return {
    frames: frames === "-" ? [] : frames.split(" > "),
    blocks: Number(blocks),
    size: Number(size),
    facts: new Map([...facts.matchAll(/([a-z]+) (\d+)/g)].map(([, name, value]) => [name!, Number(value)])),
  };
}

function mibOf(blocks: number, size: number, facts: ReadonlyMap<string, number>) {
  const block = blockMib({
    accessCount: BigInt(facts.get("access") ?? 0),
    size,
    allocTimestamp: 0,
    deallocTimestamp: facts.get("life") ?? 0,
    allocCpuId: 0,
    deallocCpuId: 0,
  });
  const mib = { ...block };
  for (let merged = 1; merged < blocks; merged++) mergeMib(mib, block);
  return mib;
}

function siteOf({ blocks, size, facts }: Row, index: number): RunSite {
  const blocksOf = (name: string) => facts.get(name) ?? 0;
  const temporary = facts.get("temporary");
  return {
    stackId: `${index + 1}`,
    liveBytes: blocksOf("live") * size,
    liveBlocks: blocksOf("live"),
    peakBytes: blocksOf("peak") * size,
    peakBlocks: blocksOf("peak"),
    neverAccessed: blocksOf("unused"),
    neverAccessedBytes: blocksOf("unused") * size,
    writtenNeverRead: blocksOf("unread"),
    writtenNeverReadBytes: blocksOf("unread") * size,
    granulesTouched: blocksOf("touched"),
    granules: blocks * Math.ceil(size / 8),
    reallocations: blocksOf("reallocated"),
    ...(temporary === undefined ? {} : { temporary }),
    ...reachOf(size, facts),
    ...(facts.has("chains") ? { growth: growthOf(size, blocksOf) } : {}),
    ...(facts.has("collected")
      ? {
          collected: {
            blocks: blocksOf("collected"),
            bytes: blocksOf("collected") * size,
            lifetime: blocksOf("collected") * (facts.get("lasted") ?? blocksOf("life")),
          },
        }
      : {}),
    ...(facts.has("spare")
      ? { capacity: { blocks, bytes: blocks * size, unusedBytes: blocksOf("spare") } }
      : {}),
  };
}

const REACH_FACTS = {
  lost: ["lostBlocks", "lostBytes"],
  indirect: ["indirectlyLostBlocks", "indirectlyLostBytes"],
  possible: ["possiblyLostBlocks", "possiblyLostBytes"],
  reachable: ["stillReachableBlocks", "stillReachableBytes"],
  behind: ["behindLostBlocks", "behindLostBytes"],
  late: ["lateLostBlocks"],
  grown: ["lateReachableBlocks"],
  idle: ["idleReachableBlocks"],
  done: ["doneReachableBlocks"],
  settled: ["settledLostBlocks"],
  inside: ["lateBehindBlocks"],
} as const;

function reachOf(size: number, facts: ReadonlyMap<string, number>): Partial<RunSite> {
  const found = Object.entries(REACH_FACTS).flatMap(([fact, [blocks, bytes]]) => {
    const count = facts.get(fact) ?? 0;
    return count === 0 ? [] : [[blocks, count], ...(bytes === undefined ? [] : [[bytes, count * size]])];
  });
  return Object.fromEntries(found);
}

/** Reachability of a heap that was searched for pointers: every context with live blocks has the kinds of these. */
export function reachOfPicture(picture: string, hostMayHold = false): HeapReach {
  const { sites } = heapPicture(picture).run.heap!;
  const sum = (field: keyof RunReach) => sites.reduce((total, site) => total + (site[field] ?? 0), 0);
  return {
    lostBytes: sum("lostBytes"),
    lostBlocks: sum("lostBlocks"),
    indirectlyLostBytes: sum("indirectlyLostBytes"),
    indirectlyLostBlocks: sum("indirectlyLostBlocks"),
    possiblyLostBytes: sum("possiblyLostBytes"),
    possiblyLostBlocks: sum("possiblyLostBlocks"),
    stillReachableBytes: sum("stillReachableBytes"),
    stillReachableBlocks: sum("stillReachableBlocks"),
    hostMayHold,
  };
}

function growthOf(size: number, fact: (name: string) => number): BlockGrowth {
  return {
    chains: fact("chains"),
    copies: fact("copies"),
    copiedBytes: fact("copied"),
    mostCopies: fact("copies") - fact("chains") + 1,
    finalBytes: fact("chains") * size,
    usedBytes: fact("chains") * fact("used"),
    largestFinal: size,
    ...(fact("steps") > 0 && {
      steppedChains: fact("stepped"),
      steps: fact("steps"),
      steppedBytes: fact("stepped") * fact("used"),
    }),
  };
}

function totalsOf(rows: readonly Row[], sites: RunSite[]): RunHeap {
  const sum = (amountOf: (row: Row, site: RunSite) => number) =>
    rows.reduce((total, row, index) => total + amountOf(row, sites[index]!), 0);
  return {
    allocations: sum(({ blocks }) => blocks),
    allocatedBytes: sum(({ blocks, size }) => blocks * size),
    frees: sum(({ blocks }, { liveBlocks }) => blocks - liveBlocks),
    peakBytes: sum((_, { peakBytes }) => peakBytes),
    peakBlocks: sum((_, { peakBlocks }) => peakBlocks),
    liveBytes: sum((_, { liveBytes }) => liveBytes),
    liveBlocks: sum((_, { liveBlocks }) => liveBlocks),
    heapAccesses: sum(({ blocks, facts }) => blocks * (facts.get("access") ?? 0)),
    otherAccesses: 1000,
    profilerBytes: 3 * 65536,
    overflow: { contexts: 0, blocks: 0 },
    growth: sites.reduce((sum, { growth }) => addGrowth(sum, growth ?? NO_GROWTH), NO_GROWTH),
    capacity: sites.reduce((sum, { capacity }) => addCapacity(sum, capacity ?? NO_CAPACITY), NO_CAPACITY),
    sites,
  };
}

/** Lays out the functions of the picture in modules, 256 bytes each, and assigns PCs in them. */
class PictureCode {
  readonly #functionsOf = new Map<string, string[]>([["app", []]]);

  pc(frame: string): bigint {
    const [, isFromHost, module = "app", name, call = "1"] =
      /^(\^?)(?:([\w.-]+)!)?(.*?)(?:@(\d+))?$/.exec(frame) ?? [];
    if (!this.#functionsOf.has(module)) this.#functionsOf.set(module, []);
    const functions = this.#functionsOf.get(module)!;
    if (!functions.includes(name!)) functions.push(name!);
    const place = isFromHost ? 0 : 0x10 * Number(call);
    return (
      BigInt([...this.#functionsOf.keys()].indexOf(module)) * MODULE_DISTANCE +
      BigInt(FUNCTION_BYTES * (functions.indexOf(name!) + 1) + place)
    );
  }

  modules(): RunModule[] {
    return [...this.#functionsOf].map(([name, functions], index) => ({
      index,
      name: `${name}.wasm`,
      path: null,
      buildId: (index + 1).toString(16).padStart(40, "0"),
      bytes: 20_000,
      codeBytes: 16_384,
      instances: 1,
      start: `0x${(BigInt(index) * MODULE_DISTANCE).toString(16)}`,
      allocator: {
        how: "names",
        confirmed: true,
        functions: [
          {
            role: "malloc",
            index: functions.includes("malloc") ? 10 + functions.indexOf("malloc") : 90,
            name: "malloc",
          },
          { role: "free", index: 91, name: "free" },
        ],
      },
      functions: functions.map((functionName, row) => ({
        index: 10 + row,
        ...(functionName === "?" ? {} : { name: functionName }),
        offset: FUNCTION_BYTES * (row + 1),
        end: FUNCTION_BYTES * (row + 2),
      })),
      notTracked: [],
    }));
  }
}
