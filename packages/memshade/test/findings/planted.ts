export interface Answer {
  /** Words of the glossary, any of which names the problem. */
  readonly kinds: readonly string[];
  /** Numbers worked out by hand from the source; the finding must have one of them. */
  readonly amounts: readonly Amount[];
}

export interface Amount {
  readonly value: number;
  readonly unit: "bytes" | "blocks" | "accesses" | "times";
  /** Share of the value that the runtime may add. */
  readonly tolerance?: number;
  /** True if the value is a lower bound: it follows from the source, and a library adds an unknown amount. */
  readonly isLeast?: boolean;
}

/** A program below `fixtures/planted/` with one problem, on the line that its source marks. */
export interface PlantedProblem extends Answer {
  readonly program: string;
  readonly source: string;
  /** Word behind the mark, in sources with several problems. */
  readonly problem?: string | undefined;
}

const bytes = (value: number, tolerance = 0): Amount => ({ value, unit: "bytes", tolerance });
const blocks = (value: number, tolerance = 0): Amount => ({ value, unit: "blocks", tolerance });
const accesses = (value: number, tolerance = 0): Amount => ({ value, unit: "accesses", tolerance });
const times = (value: number, tolerance = 0): Amount => ({ value, unit: "times", tolerance });

const least = (value: number): Amount => ({ value, unit: "bytes", isLeast: true });

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

function among(problem: string, of: PlantedProblem): PlantedProblem {
  return { ...of, problem };
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
  inWasm("c/overwritten-handles.c", LEAK, bytes(868 * 320), blocks(868)),
  inWasm("c/static-trace.c", ["unread-data"], bytes(4_096 * 8)),
  inWasm("c/large-arenas.c", ["over-capacity"], bytes(24 * (32_768 - 272))),
  // One line for each of the two halves of a cell; the last row has two cells that change.
  inWasm("c/rewritten-cells.c", ["silent"], bytes(159 * 1_998 * 2, 0.01)),
  among("leak", inWasm("c/mail-filter.c", LEAK, blocks(299), blocks(300))),
  among("never-read", inWasm("c/mail-filter.c", ["never-read"], bytes(300 * 72, 0.02), blocks(300))),
  among("dead", inWasm("c/mail-filter.c", ["dead"], bytes(900 * 256, 0.02))),
  inWasm("c/handed-out-blocks.c", LEAK, bytes(200 * (92 + 100 + 108)), blocks(600)),
  inWasm("c/inlined-layer.c", LEAK, bytes(500 * 256), blocks(500)),

  // Each of 12 values of 250 hosts is set twice; the first value, of 18 bytes, is lost.
  inWasm("c/ini-reader.c", LEAK, bytes(250 * 12 * 18), blocks(250 * 12)),
  inWasm("c/token-stream.c", LEAK, bytes(2_000 * 4 * 16), blocks(2_000 * 4)),
  inWasm("c/matrix-chain.c", LEAK, bytes(20 * 48 * 48 * 4), blocks(20)),
  inWasm("c/heat-grid.c", ["peak"], bytes(96 * 8 * 96 * 2 * 8)),
  inWasm("c/config-cache.c", ["silent"], bytes(399 * 300 * 4), accesses(399 * 300)),
  // The bytes that are read share their cell of memory with their neighbours.
  inWasm("c/word-index.c", ["unread-data"], bytes(8_191 * 2, 0.05)),
  among("never-read", inWasm("c/frame-server.c", ["never-read"], bytes(3_000 * 32), blocks(3_000))),
  among("dead", inWasm("c/frame-server.c", ["dead"], bytes(3_000 * 1_024))),
  among("growth", inWasm("c/lines-of-file.c", GROWTH, bytes((2_500 * 2_499 * 4) / 2, SMALL), times(2_499))),
  // A line has about ten characters.
  among("over-capacity", inWasm("c/lines-of-file.c", ["over-capacity"], bytes(2_500 * (256 - 10), 0.01))),

  // All slots but 180, each of 16 bytes.
  inWasm("c/port-table.c", ["sparse"], bytes(32_588 * 16, 0.001)),
  // All slots but 1,200, each of 4 bytes; a counter is for two of them.
  inWasm("c/label-shelf.c", ["sparse"], bytes(198_800 * 4, 0.01)),
  inWasm("c/phone-book.c", ["cold"], bytes(2_000 * 48)),
  among("leak", inWasm("c/escaped-pages.c", LEAK, blocks(30))),
  // Each letter of 120 pages except their first ones.
  among("growth", inWasm("c/escaped-pages.c", GROWTH, times(77_330))),
  inWasm("c/job-queue.c", LEAK, blocks(500)),
  inWasm("c/glyph-cache.c", ["write-only", "never-read"], bytes(60 * 40 * 256)),
  among("peak", inWasm("c/terrain.c", ["peak"], bytes(300 * 300 * 4))),
  // The bytes that are read share their cells with nearby bytes.
  among("unread-data", inWasm("c/terrain.c", ["unread-data"], bytes(596 * 44, 0.03))),
  among("silent", inWasm("c/seen-cells.c", ["silent"], accesses(39 * 80 * 60), bytes(39 * 80 * 60))),
  among("dead", inWasm("c/seen-cells.c", ["dead"], bytes(40 * 80 * 60 * 4))),
  // Pieces that do not fit, with 16 bytes more.
  inWasm("c/page-builder.c", GROWTH, times(3_896)),
  inWasm("c/importer.c", ["fragmentation"], blocks(1_500)),
  // Two numbers and the pointer to them, for all lines but the first one.
  inWasm("c/tariff.c", ["redundant"], bytes(199_999 * (8 + 8 + 4))),
  // Three tokens for each 15th of 3,000 lines. The builtins are a leak, too, and stand behind it.
  inWasm("c/builtins.c", LEAK, blocks(600)),

  among("growth", inWasm("cpp/tokenizer.cc", GROWTH, bytes(30 * 4_095 * 24, SMALL))),
  among("churn", inWasm("cpp/tokenizer.cc", ["churn"], blocks(30 * 600))),
  among("drag", inWasm("cpp/scene.cc", KEPT, bytes(150_000, 0.001))),
  // A label of 48 bytes, four tints, and the flags.
  among("cold", inWasm("cpp/scene.cc", ["cold"], bytes(1_200 * 68))),
  // An answer has twice the letters of its question. Spare room comes in addition, and so do the questions, which are never found again.
  inWasm("cpp/answers-cache.cc", ["never-read"], least(244_280)),
  inWasm("cpp/pipeline.cc", ["peak"], bytes(256 * 200 * 4)),
  inWasm("cpp/upload.cc", KEPT, bytes(40 * 800 * 20)),

  // A node and a text for each of 49 rules, for each of 2,500 carts.
  inWasm("cpp/quotes.cc", ["churn"], blocks(2 * 49 * 2_500)),
  // Members of 8, 8, 1, 1 and 1 bytes take 24 of 40 bytes.
  inWasm("cpp/samples.cc", ["padding"], bytes(10 * 20_000 * 16)),

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
  // Some nodes are followed as a sample of all.
  inWasm("cpp/kept-index.cc", KEPT, bytes(2_000 * 32, 0.05), blocks(2_000, 0.05)),
  inWasm("cpp/listeners.cc", LEAK, bytes(600 * 256), blocks(600)),
  // A room has 36 bytes with its counts; its doors and their lists come in addition.
  inWasm("cpp/shared-cycle.cc", LEAK, blocks(600), bytes(600 * 28 + 450 * 32 + 600 * 16, 0.1)),
  inWasm("cpp/copied-rows.cc", ["churn"], blocks(9_000)),
  inWasm("cpp/particles.cc", ["never-read", "write-only", "cold"], bytes(1_500 * 112)),
  among("over-capacity", inWasm("cpp/warehouse.cc", ["over-capacity"], bytes(40 * (6_144 - 144)))),
  among("leak", inWasm("cpp/warehouse.cc", LEAK, bytes(2_500 * 20), blocks(2_500))),
  among("churn", inWasm("cpp/warehouse.cc", ["churn"], blocks(2_500))),
  among("growth", inWasm("cpp/warehouse.cc", GROWTH, bytes(12 * 8_191 * 8, SMALL), times(12 * 13))),
  // A name and a trail of 72 bytes.
  inWasm("cpp/particle-field.cc", ["never-read", "write-only", "cold"], bytes(800 * 72)),
  inWasm("cpp/order-book.cc", ["churn", "never-read"], blocks(300 * 60)),
  // Each third shape has a list of points.
  inWasm("cpp/shape-factory.cc", LEAK, blocks(350), blocks(350 + 120)),
  // A number, the weight, and a list with three items.
  inWasm("cpp/json-tree.cc", LEAK, blocks(400 * 6, 0.01)),
  among("over-capacity", inWasm("cpp/session-store.cc", ["over-capacity"], bytes(128 * (4_096 - 16), 0.01))),
  // Answers to users with odd numbers, out of 2,400 answers.
  among("leak", inWasm("cpp/session-store.cc", LEAK, blocks(1_170, 0.01), bytes(1_170 * 8, 0.01))),

  // A node has 32 bytes, and a root has four pointers to its children.
  inWasm("rust/cyclic-tree.rs", LEAK, bytes(1_000 * 32 + 200 * 16), bytes(1_000 * 32), blocks(1_000)),
  // If one vector grows alone, realloc extends it in place each time, and there is no copy to avoid.
  inWasm("rust/sensor-columns.rs", GROWTH, bytes(30 * 4_092 * 8, SMALL), times(30 * 10)),
  inWasm("rust/route-search.rs", ["churn"], blocks(20 * 400)),
  inWasm("rust/handlers.rs", LEAK, bytes(300 * 184), blocks(300)),
  // At most 108 letters and three digits.
  among("never-read", inWasm("rust/inventory.rs", ["never-read"], bytes(400 * 111, 0.01), blocks(400))),
  among("churn", inWasm("rust/inventory.rs", ["churn"], blocks(9_000))),
  inWasm("rust/formatted-keys.rs", ["churn"], blocks(12_000)),
  inWasm("rust/unread-history.rs", ["never-read"], bytes(250 * 512), blocks(250)),
  inWasm("rust/leaked-plugins.rs", LEAK, bytes(700 * 144), blocks(700)),
  // A vector of bytes is used up to the last word of eight bytes.
  inWasm("rust/roomy-buffers.rs", ["over-capacity"], bytes(60 * (8_192 - 100), 0.001)),
  among("never-read", inWasm("rust/log-analysis.rs", ["never-read"], blocks(3_000), bytes(3_000 * 36, 0.02))),
  // 40 of 3,000 names are new.
  among("churn", inWasm("rust/log-analysis.rs", ["churn"], blocks(2_960))),
  among("clear", inWasm("rust/log-analysis.rs", ["clear", "peak"], bytes(512 * 512 * 4))),

  // The program prints the number of rejected entries.
  among("leak", inWasm("rust/gossip.rs", LEAK, blocks(3_937), bytes(3_937 * 128))),
  among("churn", inWasm("rust/gossip.rs", ["churn"], blocks(40_000 - 3_937))),
  among("silent", inWasm("rust/ledger.rs", ["silent"], bytes(99 * 2_000 * 4), accesses(99 * 2_000))),
  // A list and four texts for each line.
  among("churn", inWasm("rust/columns.rs", ["churn"], blocks(4_000 * 5))),
  inWasm("rust/undo.rs", ["never-read"], blocks(1_500), bytes(675_750)),

  // AssemblyScript puts 16 bytes in front of an array.
  inWasm("assemblyscript/kept-results.as", LEAK, bytes(800 * (16 + 96)), blocks(800)),
  inWasm("assemblyscript/vector-per-step.as", ["churn"], blocks(15_000)),
  inWasm("assemblyscript/growing-names.as", LEAK, bytes(1_000 * (16 + 200)), blocks(1_000)),
  inWasm("assemblyscript/joined-text.as", ["churn"], blocks(8 * 200), blocks(8 * 199)),
  // A ring has a header of 16 bytes before its year and width.
  among("leak", inWasm("assemblyscript/tree-rings.as", LEAK, bytes(60 * 60 * 32), blocks(60 * 60))),
  // Two points for each pair of 60 trees, in 60 years.
  among("churn", inWasm("assemblyscript/tree-rings.as", ["churn"], blocks(2 * 60 * 60 * 59))),
  among("leak", inWasm("assemblyscript/tiles.as", LEAK, blocks(1_500), bytes(1_500 * (16 + 16)))),
  // A step to the side and one up or down, one of which is taken, on straight lines between 1,500 pairs of points.
  among("churn", inWasm("assemblyscript/tiles.as", ["churn"], blocks(61_427))),
  // A number, the same number with a semicolon, and the row so far.
  among("churn", inWasm("assemblyscript/report.as", ["churn"], blocks(250 * 6 * 3))),
  inWasm("assemblyscript/csv-columns.as", ["churn"], blocks(3_000 * 6)),
  // A note has its header of 16 bytes, and three numbers.
  inWasm("assemblyscript/visited-cells.as", LEAK, bytes(2_000 * 28), blocks(2_000)),
  inWasm("assemblyscript/heat-map.as", ["silent"], bytes(199 * 64 * 8), accesses(199 * 64)),
  inWasm("assemblyscript/summed-twice.as", ["silent"], bytes(99 * 1_024 * 4), accesses(99 * 1_024)),

  // A node is two blocks: its own, and the wrapper of the bindings. Yoga's style has 9 edges for each of margin, position, padding and
  // border, 4 bytes each.
  inScript("javascript/forgotten-trees.mjs", LEAK, blocks(2 * 450), least(450 * 4 * 9 * 4)),
  // A node has 520 bytes; releasing its wrapper accesses all of them, which may count as a use.
  inScript("javascript/layouts-to-the-end.mjs", KEPT, blocks(300), bytes(300 * 520)),
  // A statement has its text, of 36 letters, and a program of at least 10 operations, 20 bytes each.
  inScript("javascript/unfreed-statements.mjs", LEAK, blocks(200), least(200 * (36 + 10 * 20))),
  // Every second of 300 requests belongs to the free plan.
  inScript("javascript/cache-of-statements.mjs", LEAK, blocks(150), least(150 * (39 + 10 * 20))),
  // A connection has 1,200 × 40 = 48,000 bytes for small objects (SQLite's documentation), and more.
  inScript("javascript/unclosed-databases.mjs", LEAK, blocks(24), least(24 * 48_000)),
  inScript("javascript/endless-log.mjs", LEAK, bytes(1_500 * 300, 0.25)),
  // A text has twelve functions with at least 15 leaves (names, numbers, brackets); a leaf that is a name has a node of its own.
  inScript("javascript/undeleted-trees.mjs", LEAK, least(60 * 12 * 15 * 8)),
  inScript("javascript/unfreed-config.mjs", LEAK, blocks(320), least(320 * 4 * 3)),
  // A world has 13 parts of its own, a body, its collider, and its state for each of ten steps.
  inScript("javascript/forgotten-worlds.mjs", LEAK, least(40 * 13 * 16)),
  // A definition has 13 words.
  inScript("javascript/undestroyed-shapes.mjs", LEAK, bytes(400 * 52), blocks(400)),
  // 150 questions, few of them equal: as in unfreed-statements, with texts of about 90 letters.
  among("leak", inScript("javascript/library-catalogue.mjs", LEAK, least(140 * (90 + 10 * 20)))),
  // As in unclosed-databases.
  among("scratch", inScript("javascript/library-catalogue.mjs", LEAK, blocks(15), least(15 * 48_000))),
  // JavaScript's collector frees the images, if it runs. An image is its pixels, and a block of 24 bytes.
  inScript(
    "javascript/unfreed-images.mjs",
    [...LEAK, "waiting"],
    bytes(30 * (64 * 64 * 4 + 24)),
    blocks(2 * 30),
  ),
  // A single instance would suffice.
  inScript("javascript/instance-per-file.mjs", ["instances"], bytes(59 * 2 * 65_536)),
  inScript("javascript/sinking-stack.mjs", ["stack-leak"], bytes(500 * 32)),
  // Images of a batch, which wait for the collector.
  inScript("javascript/dropped-images.mjs", ["waiting"], bytes(25 * (64 * 64 * 4 + 24))),
];

/** Programs that do the same tasks correctly. */
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
  "sound/arena.wasm",
  "sound/ini.wasm",
  "sound/sieve-blocks.wasm",
  "sound/ring-server.wasm",
  "sound/lru.wasm",
  "sound/tokens.wasm",
  "sound/matrix.wasm",
  "sound/word-count.wasm",
  "sound/cache.wasm",
  "sound/timetable.wasm",
  "sound/primes.wasm",
  "sound/trees.mjs",
  "sound/bodies.wasm",
  "sound/layout.mjs",
  "sound/database.mjs",
  "sound/service.mjs",
  "sound/images.mjs",
  "sound/checksums.mjs",
  "sound/hashes.mjs",
  "sound/index.wasm",
  "sound/lines.wasm",
  "sound/search-tree.wasm",
  "sound/every-fourth.wasm",
  "sound/arena-parser.wasm",
  "sound/free-list.wasm",
  "sound/compress.wasm",
  "sound/gamma.wasm",
  "sound/memo.wasm",
  "sound/life.wasm",
  "sound/words.wasm",
  "sound/raytrace.wasm",
  "sound/queens.wasm",
  "sound/dense-ports.wasm",
  "sound/price-list.wasm",
  "sound/importer.wasm",
  "sound/tariff.wasm",
  "sound/wide-slots.wasm",
];
