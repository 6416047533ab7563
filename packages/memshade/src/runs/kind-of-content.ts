import { CPU_FILE, CPU_SCHEMA } from "../profile/model/cpu/cpu-samples.ts";
import { OBJECTS_SCHEMA } from "../profile/model/objects/objects.ts";
import { HEAP_INTERVALS_FILE, HEAP_INTERVALS_SCHEMA } from "../profile/model/over-time/heap-intervals.ts";
import { MEASURED_SCHEMA, NAMES_FILE, NAMES_SCHEMA, RUN_FILE, RUN_SCHEMA } from "../profile/model/run.ts";
import { STATICS_FILE, STATICS_SCHEMA } from "../profile/model/statics/statics.ts";
import { WASTE_SCHEMA } from "../profile/model/waste/waste.ts";
import { WORKING_SET_SCHEMA } from "../profile/model/working-set/working-set.ts";

/** So much of a file tells what it is. */
const START_BYTES = 4096;

/** Files in the folder of a run that are read by themselves, if they have their names. */
const READ_BY_NAME: ReadonlyMap<string, string> = new Map([
  [RUN_SCHEMA, RUN_FILE],
  [WASTE_SCHEMA, "waste.json"],
  [WORKING_SET_SCHEMA, "workingset.json"],
  [OBJECTS_SCHEMA, "objects.json"],
]);
/** Other files there. */
const PARTS: ReadonlyMap<string, string> = new Map([
  [CPU_SCHEMA, CPU_FILE],
  [MEASURED_SCHEMA, "measured.json"],
  [STATICS_SCHEMA, STATICS_FILE],
  [HEAP_INTERVALS_SCHEMA, HEAP_INTERVALS_FILE],
  [NAMES_SCHEMA, NAMES_FILE],
]);

/** Starts of texts of other tools, and what to do with such a file. */
const TEXTS: readonly (readonly [start: RegExp, hint: string])[] = [
  [/^PERFILE2/, "it is a recording of perf, which memshade unwind reads and exports"],
  [
    /^desc: [^\n]*\ncmd: /,
    "it is a profile of massif, which ms_print shows; valgrind --tool=dhat records one that is read here",
  ],
  [
    /^\s*(?:=+\s+)?==\d+==\s*ERROR: (?:Leak|Address)Sanitizer/,
    "it is a report of LeakSanitizer, a text for people; memshade run ./program, or valgrind --tool=dhat, records a profile",
  ],
  [/^--- \w/, "it is a profile of gperftools or Go of something else than the heap, which pprof shows"],
  [
    /^==\d+== (?:Memcheck|DHAT|Massif|Valgrind)/,
    "it is what Valgrind prints; valgrind --tool=dhat --dhat-out-file=FILE writes a profile that is read here",
  ],
];

const V8_SNAPSHOT = "which Chromium's DevTools show (Memory, Load profile)";

/** Starts of JSON of other tools, without white space. */
const JSON_FILES: readonly (readonly [start: RegExp, hint: string])[] = [
  [
    /^\{"snapshot":\{"meta":/,
    `it is a heap snapshot or timeline of V8, ${V8_SNAPSHOT}; memshade node records what its objects cost`,
  ],
  [
    /^\{"head":\{/,
    `it is a sampled heap profile of V8, ${V8_SNAPSHOT}; memshade node records a profile of a program`,
  ],
  [/^\{"nodes":\[\{"id":/, "it is a processor profile of V8, which Chromium's DevTools show (Performance)"],
  [/"\$schema":"https:\/\/www\.speedscope\.app/, "it is a file of speedscope, which memshade export writes"],
  [
    /^\{"meta":\{[\s\S]*"preprocessedProfileVersion"/,
    "it is a profile of the Firefox Profiler, which memshade export writes",
  ],
  [/"traceEvents":\[/, "it is a trace of Chromium, which Perfetto shows"],
  [/"\$schema":"[^"]*sarif/, "it is a SARIF file, which memshade check writes"],
  [/^\{"version":3,.*"(?:mappings|sources)":/, "it is a source map"],
  [
    /^\{"command":"[\s\S]*"(?:stores|loads)":\[/,
    "it is a waste.json, also one of the tool deadstores, which memshade waste-print shows",
  ],
];

/** What a file is that is no heap profile, by its content, as a clause; undefined where nothing is known of it. */
export function kindOfContent(bytes: Uint8Array): string | undefined {
  if (bytes.length === 0) return "it is empty";
  const start = new TextDecoder("latin1").decode(bytes.subarray(0, START_BYTES));
  // The type of an ELF file is its 17th byte.
  if (start.startsWith("\x7fELF"))
    return bytes[16] === 4
      ? "it is a core dump, which memshade unwind reads and exports"
      : "it is a program or a part of one, not a recorded run: memshade run records programs";
  const text = TEXTS.find(([pattern]) => pattern.test(start));
  if (text !== undefined) return text[1];
  const json = start.replace(/\s+/g, "");
  if (!/^[{[]/.test(json)) return undefined;
  const schema = /^\{"schema":"(memshade-[a-z-]+)"/.exec(json)?.[1];
  if (schema !== undefined) return ownFile(schema);
  return JSON_FILES.find(([pattern]) => pattern.test(json))?.[1] ?? "it is some other JSON";
}

function ownFile(schema: string): string {
  const name = READ_BY_NAME.get(schema);
  if (name !== undefined) return `it is the ${name} of a run, and is read by that name`;
  const part = PARTS.get(schema);
  return part === undefined
    ? `it is what memshade printed as JSON (${schema}), for other programs: name the run that it was made of`
    : `it is the ${part} of a run: name the folder that it lay in`;
}
