import { readMappedRanges } from "../../../../src/record/native/reach/mapped-ranges.ts";
import { ProcessMemory, type ReadableProcess } from "../../../../src/record/native/reach/process-memory.ts";
import { isChunkHead, processRoots, type RootSources } from "../../../../src/record/native/reach/roots.ts";
import { BlockList } from "../../../../src/record/tools/heap/read/reach/block-list.ts";
import { classifyBlocks } from "../../../../src/record/tools/heap/read/reach/classify-blocks.ts";

const PAGE_BYTES = 4096;
const NAMES = ["", "reachable", "possible", "lost", "indirect"];

/** A process made of words at addresses, and of map lines as the kernel writes them. */
export class MadeUpProcess implements ReadableProcess {
  readonly #pages = new Map<number, Uint8Array>();
  readonly seen = new Set<number>();
  readonly #maps: string;

  /** @param maps start, end, access, inode and path of each range */
  constructor(maps: readonly (readonly [number, number, string, number?, string?])[]) {
    this.#maps = maps
      .map(([start, end, access, inode = 0, path = ""]) =>
        `${start.toString(16)}-${end.toString(16)} ${access} 00000000 00:00 ${inode}   ${path}`.trimEnd(),
      )
      .join("\n");
  }

  put(address: number, value: number): this {
    const start = Math.floor(address / PAGE_BYTES) * PAGE_BYTES;
    const page = this.#pages.get(start) ?? new Uint8Array(PAGE_BYTES);
    this.#pages.set(start, page);
    new DataView(page.buffer).setBigUint64(address - start, BigInt(value), true);
    return this;
  }

  read(address: number, into: Uint8Array): number {
    for (let at = 0; at < into.length; at += PAGE_BYTES) {
      this.seen.add(address + at);
      into.subarray(at, at + PAGE_BYTES).set(this.#pages.get(address + at) ?? new Uint8Array(PAGE_BYTES));
    }
    return into.length;
  }

  touched(address: number, pages: Uint8Array): void {
    for (let page = 0; page < pages.length; page++)
      pages[page] = this.#pages.has(address + page * PAGE_BYTES) ? 1 : 0;
  }

  kinds(blocks: readonly (readonly [number, number])[], more: Partial<RootSources> = {}): string[] {
    const list = new BlockList({
      length: blocks.length,
      startOf: (block) => blocks[block]![0],
      sizeOf: (block) => blocks[block]![1],
    });
    const memory = new ProcessMemory(this);
    const ranges = readMappedRanges(this.#maps);
    const roots = processRoots({
      ranges,
      memory,
      blocks: list,
      isMapping: () => false,
      stacks: [],
      running: new Set(),
      pid: 1,
      ownFolders: ["/run/memshade"],
      own: [],
      hasHadBlocks: () => false,
      isForeign: false,
      ...more,
    });
    const space = { memory, ranges: roots, values: [], isOther: isChunkHead(ranges, list) };
    const times = { timeOf: () => 0, late: Number.POSITIVE_INFINITY };
    return [...classifyBlocks(list, space, times, () => undefined)].map((reach) => NAMES[reach]!);
  }
}
