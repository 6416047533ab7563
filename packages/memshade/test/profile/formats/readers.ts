import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gunzipSync, gzipSync, zstdCompressSync } from "node:zlib";
import { expect } from "vitest";
import { openObject } from "../../../src/code/objects/index.ts";
import { UnwindTable } from "../../../src/code/unwind/index.ts";
import { buildId, dataSymbols, decodeModule, functionName, readNames } from "../../../src/code/wasm/index.ts";
import { sourceOfBytes } from "../../../src/ground/bytes/byte-source.ts";
import { FormatError } from "../../../src/ground/bytes/errors.ts";
import { readSourceMap } from "../../../src/names/load/symbolizer.ts";
import { unwindImage } from "../../../src/names/stacks/image-stacks.ts";
import { nameImageStacks } from "../../../src/names/stacks/named-image.ts";
import { FrameNamer, preferAsGdb } from "../../../src/names/stacks/names.ts";
import { Kallsyms } from "../../../src/names/stacks/recordings/kallsyms.ts";
import { nodeZstd } from "../../../src/names/stacks/recordings/named-samples.ts";
import { unwindPerfData } from "../../../src/names/stacks/recordings/sample-walks.ts";
import { Symbolizer } from "../../../src/names/symbolize/symbolizer.ts";
import { readBudget } from "../../../src/profile/formats/budget/read-budget.ts";
import { readDhat } from "../../../src/profile/formats/dhat.ts";
import { readElfCore } from "../../../src/profile/formats/elf-core.ts";
import { readMemprofYaml } from "../../../src/profile/formats/memprof-text/read-yaml.ts";
import { readMinidump } from "../../../src/profile/formats/minidump/index.ts";
import { readPerfData } from "../../../src/profile/formats/perf-data/index.ts";
import { readPprof } from "../../../src/profile/formats/pprof/read-pprof.ts";
import { readSuppressions } from "../../../src/profile/formats/suppressions.ts";
import type { HeapProfile } from "../../../src/profile/model/heap-profile.ts";
import type { ProcessImage } from "../../../src/profile/model/process-image.ts";
import { importedHeap } from "../../../src/runs/other-heaps.ts";
import { heapReportJson } from "../../../src/show/report/json/heap-report.ts";
import { jsonTextPieces } from "../../../src/show/report/json/text.ts";
import { createPaint } from "../../../src/show/report/terminal/common/paint.ts";
import { heapReport } from "../../../src/show/report/terminal/heap/heap-report.ts";
import { nativeStacksText } from "../../../src/show/report/terminal/stacks.ts";
import { drawElf, drawNote, drawSymbols } from "../../code/objects/elf-picture.ts";
import { drawCfi, SECTION_ADDRESS } from "../../code/unwind/cfi-picture.ts";
import { drawCore, drawFiles, drawMinidump, drawThread, RSP } from "./dumps/dump-pictures.ts";
import {
  CALL_CHAIN_SAMPLES,
  chainSample,
  comm,
  drawPerfData,
  finishedRound,
  fork,
  mmap2,
  sample,
} from "./dumps/perf-data-pictures.ts";

/** Readers of untrusted bytes, each with a valid input and the commands' use of the result. */
export interface ReaderOfBytes {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly read: (bytes: Uint8Array) => unknown;
}

const fixture = (name: string): Uint8Array =>
  new Uint8Array(readFileSync(fileURLToPath(new URL(`../../fixtures/${name}`, import.meta.url))));
export const asBytes = (text: string): Uint8Array => new TextEncoder().encode(text);
export const asText = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

const screen = { paint: createPaint(false), width: 80, isWide: false, input: "heap" };
function show(profile: HeapProfile | undefined): void {
  if (profile === undefined) return;
  heapReport(profile, screen);
  for (const _ of jsonTextPieces(heapReportJson(profile, { input: "heap" })));
}

const noObjects = { find: () => ({ missing: "was not found" }), findDebugFile: () => undefined };

function walk(image: ProcessImage): void {
  for (const { start } of image.files) expect(image.readMemory(start, 64).length).toBeLessThanOrEqual(64);
  const namer = new FrameNamer(
    (name) => name,
    preferAsGdb,
    () => ({ frames: () => [] }) as never,
  );
  const stacks = unwindImage(image, noObjects, { scan: true });
  for (const _ of nativeStacksText(nameImageStacks(stacks, namer, { registers: false })));
}

async function readPerf(bytes: Uint8Array): Promise<void> {
  let records = 0;
  await readPerfData(sourceOfBytes(bytes), { zstd: nodeZstd, onRecord: () => records++ });
  expect(records).toBeLessThanOrEqual(bytes.length);
}

async function walkPerf(bytes: Uint8Array): Promise<void> {
  await unwindPerfData(sourceOfBytes(bytes), noObjects, { zstd: nodeZstd, onSample: () => {} });
}

function symbolize(bytes: Uint8Array): void {
  const object = openObject(bytes);
  const symbolizer = new Symbolizer(object);
  const step = Math.ceil(object.size / 16);
  for (let address = 0; address < object.size; address += step) {
    expect(symbolizer.frames(address).length).toBeGreaterThan(0);
    symbolizer.variables(address);
    symbolizer.isStaleAt(address);
  }
  symbolizer.dataVariables();
  for (const problem of [...symbolizer.problems, ...object.problems])
    expect(problem).toBeInstanceOf(FormatError);
}

function readModule(bytes: Uint8Array): void {
  const module = decodeModule(bytes);
  const names = readNames(module);
  buildId(module);
  dataSymbols(module);
  for (const index of module.bodies.keys()) functionName(module, names, module.importedFunctionCount + index);
}

const HEAP = new Uint8Array(gunzipSync(fixture("imports/small.pb.gz")));
export const DHAT = asText(fixture("imports/small.dhat.json"));
const MEMPROF = `---
HeapProfileRecords:
  - GUID: 0x1
    AllocSites:
      - Callstack:
          - { Function: 0x100, LineOffset: 1, Column: 2, IsInlineFrame: true }
        MemInfoBlock:
          AllocCount: 1
          TotalSize: 64
    CallSites:
      - Frames:
          - { Function: 0x100, LineOffset: 3, Column: 4, IsInlineFrame: false }
...
`;
const MAPPED = `
MAPPED_LIBRARIES:
00400000-00402000 r-xp 00001000 00:00 1 /opt/server
7f0000000000-7f0000002000 r-xp 00000000 fe:01 77 /lib/libc.so.6
`;
const JEMALLOC = `heap_v2/524288
  t*: 2: 2048 [5: 4096]
@ 0x401200 0x401300
  t*: 2: 2048 [5: 4096]
  t0: 1: 1024 [5: 4096]
  t1: 1: 1024 [0: 0]
@ 0x401208 0x7f0000000123
  t*: 1: 16 [1: 16]
${MAPPED}`;
const GPERFTOOLS = `heap profile:   3:  2064 [  6:  4112] @ heap_v2/524288
  2: 2048 [5: 4096] @ 0x401200 0x401300
  1: 16 [1: 16] @ 0x401208 0x7f0000000123
${MAPPED}`;
const BUDGET = `# What a tile may take.
baseline: ../main
limits:
  - peak < 8 MiB
  - limit: left[file=src/tile.cpp] = 0
    reason: a tile is given back
suppressions:
  - leak: tile_cache
    reason: one table for the life of the process
  - from: leaks.supp
  - function: memset*
    measures: [dead, silent]
    reason: cleared for safety
`;
const SUPPRESSIONS = `# once
{
   configuration
   Memcheck:Leak
   match-leak-kinds: definite, indirect
   fun:malloc
   src:config.c:12
   ...
}
leak:libpng
`;
const KALLSYMS = `ffffffff81000000 T _text
ffffffff81000040 t helper
ffffffffc0000000 t in_module\t[ext4]
`;
export const MAP = {
  version: 3,
  sources: ["main.ts", "~lib/array.ts"],
  names: ["f"],
  mappings: "AAAA,U,UCIA",
};
export const SECTIONED_MAP = { version: 3, sections: [{ offset: { line: 0, column: 5 }, map: MAP }] };

const CORE = drawCore(
  [drawThread(1, 0x7f00_0000_0100), drawFiles([[0x7f00_0000_0000, 0x7f00_0000_1000, 0, "/lib/libx.so"]])],
  [
    [0x7f00_0000_0000, new Uint8Array(64).fill(1)],
    [RSP, new Uint8Array(128).fill(3)],
  ],
);
const MINIDUMP = drawMinidump({
  threads: [
    { id: 9, pc: 0x401010 },
    { id: 10, pc: 0x401020 },
  ],
  crashed: { id: 9, pc: 0x401010, code: 11 },
  modules: [{ base: 0x400000, size: 0x2000, path: "/opt/app" }],
  stack: new Uint8Array(256).fill(3),
  memory64: [[0x9000, new Uint8Array(16)]],
});
const PERF = [
  sample(30, 0x1010, "two"),
  comm(1, "app"),
  mmap2(2, 0x1000, "/bin/app"),
  finishedRound,
  sample(10, 0x1000, "one"),
  finishedRound,
  sample(40, 0x1020),
];

const CHAINS = [
  comm(1, "app"),
  mmap2(2, 0x1000, "/bin/app"),
  fork(3, 77, 7),
  chainSample(10, 0x1000, [-512n, 0x1000n, 0x1020n, 0x1040n]),
  chainSample(11, 0x1004, [-128n, 0xffff_ffff_8100_0000n, -512n, 0x1020n], 77),
];

const { symbols, strings } = drawSymbols([
  { name: "main", address: 0x1000, size: 16 },
  { name: "_ZN5other4nameEv", address: 0x1010, size: 8 },
]);
const wasmWithDwarf = fixture("programs/debug/lines.wasm");
const debugInfo = openObject(wasmWithDwarf);
const ELF = drawElf({
  sections: [
    { name: ".text", type: 1, flags: 6, address: 0x1000, content: new Uint8Array(32) },
    { name: ".note", type: 7, content: drawNote("GNU", 3, new Uint8Array(20).fill(7)) },
    { name: ".symtab", type: 2, link: ".strtab", content: symbols },
    { name: ".strtab", type: 3, content: strings },
    { name: ".gnu_debuglink", type: 1, content: asBytes("a.debug\0crc ") },
    ...debugInfo.sections
      .filter(({ name }) => name.startsWith(".debug_"))
      .map(({ name }) => ({ name, type: 1, content: debugInfo.section(name)! })),
  ],
  segments: [{ type: 1, flags: 5, address: 0x1000, section: ".text" }],
});
const CFI = drawCfi(
  "eh_frame",
  { augmentation: "zPLR" },
  [0, 1, 2].map((i) => ({ start: 0x1000 + 0x40 * i, size: 0x40, program: [0x41, 0x0e, 16, 0x86, 2, 0x0b] })),
);
const ELF_WITH_CFI = drawElf({
  sections: [{ name: ".eh_frame", type: 1, address: SECTION_ADDRESS, content: CFI }],
});

function unwindTable(bytes: Uint8Array): void {
  const object = openObject(bytes);
  for (const lazy of [false, true]) {
    const table = UnwindTable.fromObject(object, { lazy });
    for (let address = 0xfc0; address < 0x1200; address += 5) table.find(address);
  }
}

/**
 * Readers without a fuzz target of their own: MemProf profiles have `memprof/fuzz.slow.test.ts`, and C++ names and wasm code have theirs.
 */
export const READERS: readonly ReaderOfBytes[] = [
  { name: "a source map", bytes: asBytes(JSON.stringify(MAP)), read: readSourceMap },
  { name: "a source map of sections", bytes: asBytes(JSON.stringify(SECTIONED_MAP)), read: readSourceMap },
  { name: "a file of DHAT", bytes: asBytes(DHAT), read: (bytes) => show(readDhat(asText(bytes))) },
  { name: "a heap profile of pprof", bytes: HEAP, read: (bytes) => show(readPprof(bytes)) },
  {
    name: "a recording of heaptrack",
    bytes: fixture("imports/small.heaptrack"),
    read: (bytes) => show(importedHeap("heap", bytes)),
  },
  {
    name: "a text of jemalloc",
    bytes: asBytes(JEMALLOC),
    read: (bytes) => show(importedHeap("heap", bytes)),
  },
  {
    name: "a text of gperftools",
    bytes: asBytes(GPERFTOOLS),
    read: (bytes) => show(importedHeap("heap", bytes)),
  },
  { name: "a profile of MemProf in YAML", bytes: asBytes(MEMPROF), read: readMemprofYaml },
  {
    name: "a heap profile packed by gzip",
    bytes: new Uint8Array(gzipSync(HEAP)),
    read: (bytes) => show(importedHeap("heap.gz", bytes)),
  },
  {
    name: "a heap profile packed by zstd",
    bytes: new Uint8Array(zstdCompressSync(asBytes(DHAT))),
    read: (bytes) => show(importedHeap("heap.zst", bytes)),
  },
  {
    name: "a damaged heap profile that is packed well",
    bytes: HEAP,
    read: (bytes) => show(importedHeap("heap.gz", gzipSync(bytes))),
  },
  { name: "a budget", bytes: asBytes(BUDGET), read: (bytes) => readBudget(asText(bytes), "budget.yaml") },
  {
    name: "suppressions",
    bytes: asBytes(SUPPRESSIONS),
    read: (bytes) => readSuppressions(asText(bytes), "leaks.supp"),
  },
  { name: "a minidump", bytes: MINIDUMP, read: (bytes) => walk(readMinidump(sourceOfBytes(bytes))) },
  { name: "a core dump", bytes: CORE, read: (bytes) => walk(readElfCore(sourceOfBytes(bytes))) },
  { name: "perf.data", bytes: drawPerfData(PERF), read: readPerf },
  { name: "perf.data of a pipe", bytes: drawPerfData(PERF, true), read: readPerf },
  {
    name: "perf.data with call chains",
    bytes: drawPerfData(CHAINS, false, CALL_CHAIN_SAMPLES),
    read: walkPerf,
  },
  { name: "an ELF file with debug information", bytes: ELF, read: symbolize },
  { name: "an ELF file with unwind tables", bytes: ELF_WITH_CFI, read: unwindTable },
  { name: "a wasm file with debug information", bytes: wasmWithDwarf, read: symbolize },
  { name: "a wasm module", bytes: fixture("programs/allocation/lifecycle.wasm"), read: readModule },
  {
    name: "the kernel's symbols",
    bytes: asBytes(KALLSYMS),
    read: (bytes) => {
      const found = new Kallsyms(bytes);
      for (const row of found.addresses.keys()) found.name(row);
      found.addressOf("_text");
    },
  },
];
