/** What a report must say of one planted problem. */
export interface Answer {
  /** Words of the glossary, any of which names the problem. */
  readonly kinds: readonly string[];
  /** By hand from the source; any of these numbers will do. */
  readonly amounts: readonly Amount[];
}

export interface Amount {
  readonly value: number;
  readonly unit: "bytes" | "blocks" | "accesses" | "times";
  /** Where the runtime adds something of its own, as a part of the value. */
  readonly tolerance?: number;
}

/** A program below `fixtures/planted/` with one problem, on the line that its source marks. */
export interface PlantedProblem extends Answer {
  readonly program: string;
  readonly source: string;
}

const bytes = (value: number, tolerance = 0): Amount => ({ value, unit: "bytes", tolerance });
const blocks = (value: number, tolerance = 0): Amount => ({ value, unit: "blocks", tolerance });
const accesses = (value: number, tolerance = 0): Amount => ({ value, unit: "accesses", tolerance });
const times = (value: number, tolerance = 0): Amount => ({ value, unit: "times", tolerance });

const LEAK = ["leak"];
const KEPT = ["drag"];
const GROWTH = ["growth", "moved"];
/** Copies of blocks of up to 128 bytes are not followed. */
const SMALL = 0.02;

function inWasm(source: string, kinds: readonly string[], ...amounts: Amount[]): PlantedProblem {
  return { source, program: source.replace(/\.\w+$/, ".wasm"), kinds, amounts };
}

function inScript(source: string, kinds: readonly string[], ...amounts: Amount[]): PlantedProblem {
  return { source, program: source, kinds, amounts };
}

export const PROBLEMS: readonly PlantedProblem[] = [
  inWasm("c/lost-settings.c", LEAK, bytes(100 * (31 + 1 + 200) + 100 * (18 + 1 + 200)), blocks(200)),
  inWasm("c/growing-sessions.c", LEAK, bytes(3_000 * 128), blocks(3_000)),
  inWasm("c/kept-input.c", KEPT, bytes(131_072)),
  inWasm("c/temporary-keys.c", ["churn"], blocks(20_000)),
  inWasm("c/character-by-character.c", GROWTH, times(3_599), times(3_600), bytes((3_600 * 3_599) / 2)),
  inWasm("c/write-only-results.c", ["never-read"], bytes(64_000), blocks(1_000)),
  inWasm("c/clear-before-fill.c", ["dead"], bytes(50 * 8_192)),
  inWasm("c/double-init.c", ["dead"], bytes(10 * 2_000 * 32)),
  inWasm("c/same-table.c", ["silent"], bytes(199 * 256 * 4), accesses(199 * 256)),
  inWasm("c/aliased-scale.c", ["redundant"], accesses(20 * 4_095 * 2), bytes(20 * 4_095 * 2 * 4)),
  inWasm("c/unread-table.c", ["unread-data"], bytes(16_384)),
  inWasm("c/untouched-workspaces.c", ["unused"], bytes(64 * 4_096), blocks(64)),
  inWasm("c/copied-to-sort.c", ["peak"], bytes(1_048_576)),
  inWasm("c/handed-out-blocks.c", LEAK, bytes(200 * (92 + 100 + 108)), blocks(600)),
  inWasm("c/inlined-layer.c", LEAK, bytes(500 * 256), blocks(500)),

  inWasm("cpp/unreserved-vector.cc", GROWTH, bytes(40 * 4_095 * 16, SMALL), times(40 * 12), times(40 * 13)),
  inWasm("cpp/over-capacity.cc", ["over-capacity"], bytes(200 * (2_048 - 64))),
  inWasm("cpp/cold-fields.cc", ["never-read", "write-only", "cold"], bytes(2_000 * 64)),
  inWasm("cpp/released-pointer.cc", LEAK, bytes(500 * 104), blocks(500)),
  inWasm("cpp/string-per-question.cc", ["churn"], blocks(10_000)),
  inWasm(
    "cpp/repeated-concatenation.cc",
    [...GROWTH, "churn"],
    bytes((10 * 400 * 399) / 2, SMALL),
    blocks(399),
    blocks(400),
  ),
  inWasm("cpp/kept-index.cc", KEPT, bytes(2_000 * 32), blocks(2_000)),
  inWasm("cpp/listeners.cc", LEAK, bytes(600 * 256), blocks(600)),

  // A node has 32 bytes, and a root four pointers to its children.
  inWasm("rust/cyclic-tree.rs", LEAK, bytes(1_000 * 32 + 200 * 16), bytes(1_000 * 32), blocks(1_000)),
  inWasm("rust/growing-vec.rs", GROWTH, bytes(30 * 8_188 * 4, SMALL), times(30 * 11), times(30 * 12)),
  inWasm("rust/formatted-keys.rs", ["churn"], blocks(12_000)),
  inWasm("rust/unread-history.rs", ["never-read"], bytes(250 * 512), blocks(250)),

  // An array of AssemblyScript has 16 bytes in front.
  inWasm("assemblyscript/kept-results.as", LEAK, bytes(800 * (16 + 96)), blocks(800)),
  inWasm("assemblyscript/vector-per-step.as", ["churn"], blocks(15_000)),
  inWasm("assemblyscript/summed-twice.as", ["silent"], bytes(99 * 1_024 * 4), accesses(99 * 1_024)),

  // A node is two blocks: its own, and the wrapper that the bindings keep.
  inScript("javascript/forgotten-trees.mjs", LEAK, blocks(2 * 450), bytes(240_000, 0.05)),
  inScript("javascript/layouts-to-the-end.mjs", KEPT, blocks(2 * 300)),
  // SQLite has no more than some 1,400 bytes for a statement like that.
  inScript("javascript/unfreed-statements.mjs", LEAK, blocks(200), bytes(200 * 1_400, 0.1)),
  // A connection has 48,000 bytes for small objects, and what it knows of its functions.
  inScript("javascript/unclosed-databases.mjs", LEAK, blocks(24), bytes(24 * 48_000, 0.3)),
  inScript("javascript/endless-log.mjs", LEAK, bytes(1_500 * 300, 0.25)),
  // Freed when JavaScript collects its garbage, which is late.
  inScript("javascript/unfreed-images.mjs", [...LEAK, ...KEPT], bytes(30 * 64 * 64 * 4), blocks(30)),
];

/** Programs that do the same tasks right. */
export const SOUND: readonly string[] = [
  "sound/settings.wasm",
  "sound/sessions.wasm",
  "sound/page.wasm",
  "sound/decoder.wasm",
  "sound/log.wasm",
  "sound/directory.wasm",
  "sound/graph.wasm",
  "sound/tree.wasm",
  "sound/samples.wasm",
  "sound/bodies.wasm",
  "sound/layout.mjs",
  "sound/database.mjs",
];
