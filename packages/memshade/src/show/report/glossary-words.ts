import { LEAST_COMMON_PART } from "../../explain/findings/finding-kind.ts";
import { KINDS } from "../../explain/findings/index.ts";
import { MEASURES } from "../../explain/measures/index.ts";
import type { Measure } from "../../explain/measures/measure.ts";
import { type GlossaryEntry, namesOf, plain } from "./glossary-entry.ts";

/** Entries of findings, which come first in `memshade report`. */
const FINDINGS: readonly GlossaryEntry[] = KINDS.map(({ kind, also, meaning, advice, more }) => ({
  word: kind,
  also,
  text: meaning,
  advice,
  more,
}));

/** Kinds of waste that every program has a little of. */
const COMMON = KINDS.filter(({ leastPart }) => leastPart === LEAST_COMMON_PART).map(({ kind }) => kind);

const WORDS: readonly GlossaryEntry[] = [
  {
    word: "finding",
    also: ["summary", "part"],
    text: `A fault of the program that you can mend, with its place, its amount and an advice. A run has at most five findings, of all tools together, largest part first. The part is the share of a total (bytes at the peak, bytes written, …) that goes away when the finding is mended. Findings of less than 1 % are not reported; kinds that every program has a little of (${COMMON.join(", ")}) need at least 5 %.`,
    more: "report-json.md#finding",
  },
  {
    word: "block",
    also: ["allocation"],
    text: "The memory between an allocation and its release. Its size is the number of bytes that the program requested.",
    more: "concepts.md#blocks-and-sites",
  },
  {
    word: "site",
    text: "The innermost call of the program's own code on the way to an allocation. A site adds up all call paths that end in this call.",
    more: "concepts.md#blocks-and-sites",
  },
  {
    word: "call path",
    also: ["path", "context", "calling context"],
    text: "The calls that led to an allocation, innermost first. A recursive function appears once.",
    more: "concepts.md#blocks-and-sites",
  },
  {
    word: "sample",
    also: ["samples", "cpu", "cpu time", "lost sample"],
    text: "The call path of a thread, recorded each time that the thread has used a fixed amount of CPU time (memshade run --sample 97hz PROGRAM). A function with 10 % of the samples has about 10 % of the CPU time. A lost sample was due but not recorded; the thread's next sample counts for both.",
    more: "native-programs.md#cpu-time",
  },
  {
    word: "call tree",
    also: ["total", "tree"],
    text: "All call paths of a run, merged from their outermost calls. The total of a function includes everything that it called. Its own amount is that of the function itself and of the libraries that it called. The own amount and the totals of the called functions add up to the total.",
    more: "terminal.md#memshade-tree",
  },
  {
    word: "spread",
    also: ["within the spread", "median"],
    text: "The range of the values of the runs on one side of a comparison. If both sides have values in each other's range, the difference may be chance.",
    more: "terminal.md#several-runs-a-side",
  },
  {
    word: "own code",
    also: ["own", "library", "layer", "via"],
    text: "Code that belongs to no standard library, no language runtime and no layer on top of the allocator. Reports name a place by its innermost frame of own code, and the library function that it called after via: load (load.cc:7) via std::vector::push_back. The options --own and --library change what counts as own code.",
    more: "concepts.md#own-code",
  },
  {
    word: "lifetime",
    also: ["clock", "allocations"],
    text: "The time from a block's allocation to its release. The clock ticks once per allocation: 2,000 allocs means that 2,000 other blocks were allocated in between. With --clock wall, lifetimes are in milliseconds.",
    more: "concepts.md#time",
  },
  {
    word: "live",
    also: ["at the end", "still live"],
    text: "Not released yet. Blocks that are live at the end are either lost (a leak), or still reachable and perhaps kept on purpose.",
    more: "concepts.md#how-much",
  },
  {
    word: "lost",
    also: ["indirectly lost", "left to the host"],
    text: "Live at the end, with no pointer left in the program's memory and globals. Blocks to which only lost blocks point are indirectly lost. In a module that JavaScript calls, the host may still hold the address.",
    more: "concepts.md#lost-or-still-reachable",
  },
  {
    word: "possibly lost",
    also: ["possible"],
    text: "Live at the end, with no pointer to the block's start: only addresses inside the block are left, or a variable of a running function may hold the pointer.",
    more: "concepts.md#lost-or-still-reachable",
  },
  {
    word: "still reachable",
    also: ["reachable"],
    text: "Live at the end, and the program still has pointers to the block, for example in a table, a cache, or a collection that is kept on purpose.",
    more: "concepts.md#lost-or-still-reachable",
  },
  {
    word: "suppressed",
    also: ["suppression"],
    text: "Lost, but listed in a file of known leaks (--suppressions), which can also give the reason. Suppressed blocks are not reported as leaks.",
    more: "concepts.md#suppressions",
  },
  {
    word: "accesses",
    also: ["access", "acc/b", "density", "accesses/b"],
    text: "Loads, stores and atomic operations of the program on its blocks. The density is the number of accesses per byte.",
    more: "concepts.md#accesses",
  },
  {
    word: "touched",
    also: ["granule"],
    text: "The share of a site's granules (8 bytes each) that were accessed at least once. With ≥ the share is a lower bound: accesses that are counted together count for the granule of the first.",
    more: "concepts.md#touched",
  },
  {
    word: "hot",
    also: ["notcold", "ambiguous"],
    text: "How LLVM's compiler classifies an allocation call: cold, not cold, hot, or ambiguous if the class depends on the callers.",
    more: "memprof.md",
  },
  {
    word: "left to host",
    also: ["host", "opaque"],
    text: "Unread bytes at a moment when the host had control. It is unknown what the host reads, so these bytes count as read.",
    more: "tools/waste.md#what-the-words-mean",
  },
  {
    word: "typical",
    text: "The range in which the middle half of seventeen real programs lies. If a share is above this range, look at the findings.",
    more: "tools/waste.md#what-is-typical",
  },
  {
    word: "object",
    also: ["objects", "object-bytes", "struct", "wasmgc"],
    text: "A value that a garbage-collected language makes with struct.new or array.new. It lives in the engine's heap, not in the module's memory. The number of objects is exact; their bytes are computed from a model of the engine.",
    more: "tools/objects.md#what-the-numbers-mean",
  },
  {
    word: "in use",
    also: ["in-use", "objects-in-use"],
    text: "Objects that are left after the engine was asked to collect garbage. The number is an estimate (≈) from a sample of the objects, with its standard error (±). The sampling keeps no object alive.",
    more: "tools/objects.md#in-use",
  },
  {
    word: "working set",
    also: ["interval", "line", "lines"],
    text: "The distinct lines (64 bytes) that the program touches in an interval.",
    more: "tools/working-set.md#what-the-numbers-mean",
  },
  {
    word: "new",
    text: "Cache lines that the program touches for the first time in the run.",
    more: "tools/working-set.md#what-the-numbers-mean",
  },
  {
    word: "phase",
    also: ["phases"],
    text: "Consecutive intervals in which the program does the same work with about the same working set.",
    more: "tools/working-set.md#what-the-numbers-mean",
  },
  {
    word: "fill",
    text: "The share of the bytes of the touched lines that the program touched.",
    more: "tools/working-set.md#whose-lines-they-are",
  },
  {
    word: "first touch",
    also: ["first-touch", "share", "owner"],
    text: "The code that touched a line first in an interval. The share of an owner is the part of the lines that hold its blocks.",
    more: "tools/working-set.md#whose-lines-they-are",
  },
  {
    word: "limit",
    also: ["budget", "gate"],
    text: "A condition on a measure of a run: peak<8MiB, left=0, dead<5%. memshade check ends with exit code 1 if a limit fails. Counts are the same in every run with the same input, so limits can be exact.",
    more: "ci.md#limits",
  },
  {
    word: "baseline",
    text: "The run that a limit is relative to if its amount begins with + or -: peak<+5%.",
    more: "ci.md#limits",
  },
  {
    word: "miss ratio",
    also: ["misses", "reuse distance", "locality"],
    text: "The share of memory references that miss in a cache of a given size. It follows from reuse distances: the number of other lines that are referenced between two references to a line.",
    more: "tools/working-set.md#locality",
  },
];

/** Entries in groups; the measures are those without an entry among the other two. */
export const GLOSSARY_GROUPS = {
  findings: FINDINGS,
  words: WORDS,
  measures: ofMeasures([...FINDINGS, ...WORDS]),
} as const;

export const GLOSSARY: readonly GlossaryEntry[] = Object.values(GLOSSARY_GROUPS).flat();

function ofMeasures(entries: readonly GlossaryEntry[]): GlossaryEntry[] {
  const ids = new Set(MEASURES.map(({ id }) => id));
  const knownNames = new Set(entries.flatMap(namesOf).map(plain));
  return MEASURES.flatMap((measure) => {
    if (knownNames.has(plain(measure.id))) return [];
    const aliases = (measure.aliases ?? []).map((alias) => (typeof alias === "string" ? alias : alias.word));
    const also = aliases.filter((word) => !knownNames.has(plain(word)) && !ids.has(word));
    for (const word of also) knownNames.add(plain(word));
    const explained = entries.find(({ word }) => word === measure.explainedBy);
    return {
      word: measure.id,
      also: also.length === 0 ? undefined : also,
      text: `${sentenceOf(measure)} See ${measure.explainedBy}.`,
      more: explained?.more,
    };
  });
}

function sentenceOf({ meaning }: Measure): string {
  return `${meaning[0]!.toUpperCase()}${meaning.slice(1)}.`;
}
