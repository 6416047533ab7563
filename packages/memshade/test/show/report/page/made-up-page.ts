import {
  FRAME_FLAGS,
  PAGE_SCHEMA,
  PAGE_VERSION,
  type PageData,
  type PageWeight,
} from "../../../../src/show/report/page/data/page-data.ts";

export interface MadeUpOptions {
  readonly contexts?: number;
  readonly functions?: number;
  readonly intervals?: number;
  readonly seed?: number;
  readonly diff?: boolean;
}

export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let value = Math.imul(state ^ (state >>> 15), state | 1);
    value ^= value + Math.imul(value ^ (value >>> 7), value | 61);
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32;
  };
}

const WORDS = ["tile", "glyph", "style", "layer", "path", "image", "shape", "cache"];

/** A page of an invented run: a tree of contexts with figures, a heap over time, findings, blocks, a cache and sources. */
export function madeUpPage({
  contexts: length = 200,
  functions = Math.max(8, Math.ceil(Math.sqrt(length))),
  intervals = 64,
  seed = 1,
  diff = false,
}: MadeUpOptions = {}): PageData {
  const next = random(seed);
  const below = (bound: number) => Math.floor(next() * bound);
  const strings: string[] = [];
  const text = (value: string) => strings.push(value) - 1;
  const files = WORDS.map((word) => text(`src/${word}.cpp`));
  const libraryFile = text("/usr/include/c++/vector");
  const libraryName = text("C++ standard library");

  const frames = {
    length: functions,
    function: new Int32Array(functions),
    module: new Int32Array(functions),
    file: new Int32Array(functions),
    line: new Int32Array(functions),
    column: new Int32Array(functions),
    address: new Float64Array(functions),
    flags: new Uint8Array(functions),
    library: new Int32Array(functions).fill(-1),
  };
  for (let frame = 0; frame < functions; frame++) {
    const isLibrary = frame % 5 === 4;
    const word = frame % WORDS.length;
    frames.function[frame] = text(
      isLibrary ? `std::vector<int>::grow${frame}()` : `${WORDS[word]}::make${frame}(int)`,
    );
    frames.file[frame] = isLibrary ? libraryFile : files[word]!;
    frames.line[frame] = 10 + 3 * frame;
    frames.column[frame] = 5;
    frames.address[frame] = 0x100 + 16 * frame;
    if (isLibrary) {
      frames.flags[frame] = FRAME_FLAGS.library;
      frames.library[frame] = libraryName;
    }
  }

  const contexts = {
    length,
    parent: new Int32Array(length),
    frame: new Int32Array(length),
    site: new Int32Array(length),
  };
  for (let row = 0; row < length; row++) {
    // Parents are mostly recent rows, so that paths become deep.
    const parent = row === 0 ? -1 : Math.max(-1, row - 1 - below(Math.min(row, 12)));
    contexts.parent[row] = row > 0 && next() < 0.01 ? -1 : parent;
    contexts.frame[row] = below(functions);
    const isOwn = (frames.flags[contexts.frame[row]!]! & FRAME_FLAGS.library) === 0;
    contexts.site[row] = isOwn
      ? row
      : contexts.parent[row]! === -1
        ? -1
        : contexts.site[contexts.parent[row]!]!;
  }

  const values = (make: (row: number) => number) => Float64Array.from({ length }, (_, row) => make(row));
  const sum = (column: Float64Array) => column.reduce((total, value) => total + value, 0);
  const blocks = values(() => (next() < 0.5 ? below(1000) : 0));
  const bytes = blocks.map((count) => count * 8 * (1 + below(64)));
  const part = (column: Float64Array, share: number) =>
    column.map((value) => (next() < share ? Math.floor(value * next()) : 0));
  const columns: [Omit<PageWeight, "values" | "total" | "before" | "totalBefore">, Float64Array][] = [
    [{ id: "bytes", label: "bytes allocated", word: "block", unit: "bytes", tool: "heap" }, bytes],
    [{ id: "blocks", label: "blocks", word: "block", unit: "blocks", tool: "heap" }, blocks],
    [{ id: "peak", label: "bytes at the peak", word: "peak", unit: "bytes", tool: "heap" }, part(bytes, 0.6)],
    [
      { id: "left", label: "bytes live at the end", word: "live", unit: "bytes", tool: "heap" },
      part(bytes, 0.1),
    ],
    [
      { id: "temporary", label: "temporary blocks", word: "churn", unit: "blocks", tool: "heap" },
      part(blocks, 0.3),
    ],
    [
      { id: "accesses", label: "accesses", word: "accesses", unit: "accesses", tool: "heap" },
      bytes.map((value) => Math.floor(value * 3 * next())),
    ],
    [
      {
        id: "lifetime",
        label: "lifetimes",
        word: "lifetime",
        unit: "clock",
        clock: "allocations",
        tool: "heap",
      },
      blocks.map((count) => count * below(5000)),
    ],
    [
      { id: "stored", label: "bytes stored", word: "dead", unit: "bytes", tool: "waste" },
      bytes.map((value) => 2 * value),
    ],
    [{ id: "dead", label: "dead bytes", word: "dead", unit: "bytes", tool: "waste" }, part(bytes, 0.2)],
    [
      { id: "misses", label: "cache misses", word: "miss ratio", unit: "accesses", tool: "workingset" },
      part(bytes, 0.3),
    ],
  ];
  const weights = columns.map(([weight, column]): PageWeight => {
    const before = diff
      ? column.map((value) => (next() < 0.8 ? value : Math.floor(value * 2 * next())))
      : undefined;
    return {
      ...weight,
      values: column,
      total: sum(column),
      ...(before === undefined ? {} : { before, totalBefore: sum(before) }),
    };
  });

  const allocating = [...contexts.parent.keys()].filter((row) => blocks[row]! > 0);
  const offset = new Int32Array(intervals + 1);
  const rows: [number, number, number, number, number][] = [];
  const live = new Float64Array(intervals);
  const most = new Float64Array(intervals);
  const perInterval = Math.min(allocating.length, 40);
  let liveBytes = 0;
  for (let interval = 0; interval < intervals; interval++) {
    for (let index = 0; index < perInterval; index++) {
      const context = allocating[below(allocating.length)]!;
      const count = 1 + below(20);
      const size = 64 * count;
      const isFree = next() < 0.45 && liveBytes > size;
      rows.push(isFree ? [context, 0, 0, size, count] : [context, size, count, 0, 0]);
      liveBytes += isFree ? -size : size;
    }
    live[interval] = liveBytes;
    most[interval] = liveBytes + below(1000);
    offset[interval + 1] = rows.length;
  }
  const columnOf = (index: number) => Float64Array.from(rows, (row) => row[index]!);
  const ends = Float64Array.from({ length: intervals }, (_, interval) => 1000 * (interval + 1));

  const ranked = allocating.toSorted((a, b) => weights[3]!.values[b]! - weights[3]!.values[a]!);
  const pathOf = (context: number): number[] => {
    const path: number[] = [];
    for (let row = context; row !== -1; row = contexts.parent[row]!) path.push(contexts.frame[row]!);
    return path;
  };
  const kinds = ["leak", "dead", "churn", "never-read", "drag", "growth", "silent"];
  const findings = ranked.slice(0, kinds.length).map((context, index): PageData["findings"][number] => {
    const amount = Math.max(1, weights[3]!.values[context]!);
    const isWaste = kinds[index] === "dead" || kinds[index] === "silent";
    return {
      kind: kinds[index]!,
      tool: isWaste ? "waste" : "heap",
      amount,
      unit: "bytes",
      part: 0.4 / (index + 1),
      partOf: { short: "of the peak", long: "of the bytes at the peak" },
      says: `${kinds[index]} of ${amount} bytes, made up`,
      advice: "Release them where their owner ends.",
      path: pathOf(context),
      contexts: Int32Array.of(context),
      weight: isWaste ? "dead" : "left",
      objects: index === 0 ? [0] : [],
      details: { blocks: blocks[context]!, allocated: blocks[context]! },
      ...(diff ? { change: (["new", "kept", "gone"] as const)[index % 3]! } : {}),
    };
  });

  const names = Int32Array.from(["width", "height", "flags", "data"], text);
  const types = Int32Array.from(["int", "int", "unsigned", "char *"], text);
  return {
    schema: PAGE_SCHEMA,
    version: PAGE_VERSION,
    kind: diff ? "diff" : "run",
    head: {
      writtenBy: "0.0.0",
      program: "viewer.wasm",
      ...(diff ? { before: { program: "viewer-old.wasm" } } : {}),
      command: "viewer.wasm map.json",
      ended: "exit 0",
      facts: [{ label: "clock", value: "allocations" }],
      keys: [
        {
          label: "peak",
          word: "peak",
          value: weights[2]!.total,
          unit: "bytes",
          weight: "peak",
          ...(diff ? { before: weights[2]!.totalBefore! } : {}),
        },
        {
          label: "left",
          word: "live",
          value: weights[3]!.total,
          unit: "bytes",
          note: "in 120 blocks",
          weight: "left",
        },
        { label: "dead", word: "dead", value: 0.31, unit: "part", weight: "dead" },
      ],
      notTracked: ["Made up: nothing of this was measured."],
      hints: [],
    },
    strings,
    modules: [{ name: "viewer.wasm", path: "build/viewer.wasm", knows: "lines" }],
    frames,
    contexts,
    weights,
    ratios: [
      {
        id: "density",
        label: "accesses per byte",
        word: "accesses",
        unit: "count",
        of: "accesses",
        by: "bytes",
      },
      {
        id: "life",
        label: "mean lifetime",
        word: "lifetime",
        unit: "clock",
        clock: "allocations",
        of: "lifetime",
        by: "blocks",
      },
    ],
    timelines:
      intervals === 0
        ? []
        : [
            {
              tool: "heap",
              unit: "allocations",
              start: 0,
              ends,
              lanes: [
                { id: "live", label: "live heap", word: "live", unit: "bytes", shape: "level", values: live },
                { id: "most", label: "most live", word: "peak", unit: "bytes", shape: "most", values: most },
              ],
              phases: ["load", "pan", "export"].map((name, index) => ({
                name,
                from: Math.floor((index * intervals) / 3),
                to: Math.floor(((index + 1) * intervals) / 3),
              })),
              deltas: {
                offset,
                context: Int32Array.from(rows, (row) => row[0]),
                columns: [
                  { weight: "bytes", values: columnOf(1) },
                  { weight: "blocks", values: columnOf(2) },
                  { weight: "freed", values: columnOf(3) },
                  { weight: "freedBlocks", values: columnOf(4) },
                ],
              },
            },
            {
              tool: "workingset",
              unit: "accesses",
              start: 0,
              ends: ends.map((end) => 600 * end),
              lanes: [
                {
                  id: "lines",
                  label: "working set",
                  word: "working set",
                  unit: "bytes",
                  shape: "used",
                  values: ends.map(() => 64 * (100 + below(900))),
                },
              ],
              phases: [],
            },
          ],
    findings,
    objects: [
      {
        tool: "waste",
        contexts: Int32Array.from(ranked.slice(0, 1)),
        blocks: 120,
        bytes: 3840,
        size: 32,
        varies: false,
        type: { name: "Tile", size: 32, by: "constructor" },
        period: 32,
        cells: {
          length: 4,
          offset: Float64Array.of(0, 8, 16, 24),
          size: Float64Array.of(8, 8, 8, 8),
          name: names,
          type: types,
          reads: Float64Array.of(100, 0, 40, 12),
          writes: Float64Array.of(120, 120, 0, 240),
          dead: Float64Array.of(0, 960, 0, 100),
        },
        deadBy: ranked.slice(1, 3).map((context, index) => ({ context, bytes: 500 - 100 * index })),
        writtenBy: ranked.slice(1, 3).map((context, index) => ({ context, bytes: 900 - 100 * index })),
        readBy: ranked.slice(3, 5).map((context, index) => ({ context, bytes: 90 - 10 * index })),
      },
    ],
    histograms: [
      {
        id: "size",
        label: "blocks by size",
        unit: "bytes",
        from: Float64Array.of(0, 16, 32, 64, 128),
        blocks: Float64Array.of(10, 400, 200, 30, 2),
      },
    ],
    statics: [
      {
        name: "palette",
        module: 0,
        file: "src/image.cpp",
        line: 3,
        bytes: 4096,
        accesses: 10,
        untouched: 4000,
        unread: 4000,
      },
    ],
    cache: {
      lineBytes: 64,
      rate: 1,
      references: 1e6,
      lines: 5000,
      bytes: Float64Array.from({ length: 14 }, (_, index) => 64 * 2 ** index),
      missRatio: Float64Array.from({ length: 14 }, (_, index) => 0.9 / (index + 1)),
      caches: [
        { name: "L1 32 KiB", bytes: 32768, missRatio: 0.09 },
        { name: "L2 512 KiB", bytes: 524288, missRatio: 0.06 },
      ],
      missesAt: 32768,
    },
    sources: files.map((file, index) => ({
      file,
      parts: [
        {
          first: 1 + index,
          lines: Array.from({ length: 60 }, (_, line) => `  auto v${line} = make(${line});`),
        },
      ],
    })),
    code: files.map((file) => ({
      file,
      line: frames.line[frames.file.indexOf(file)],
      address: Int32Array.of(0x1a, 0x1c),
      text: ["local.get 0", "call make"],
      more: 3,
    })),
    sourcesKept: "all",
  };
}
