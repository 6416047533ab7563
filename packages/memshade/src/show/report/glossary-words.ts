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
    text: `Something that a person can act on. A run has at most five of them, of all tools together, in the order of their parts: how much of all that the program has or does of that sort (bytes at the peak, bytes written, …) goes when the finding is mended. Less than one per cent is none; of what every program is a little (${COMMON.join(", ")}), less than five.`,
    more: "report-json.md#finding",
  },
  {
    word: "block",
    also: ["allocation"],
    text: "The memory between an allocation and its release. Its size is what the program asked for.",
    more: "concepts.md#blocks-and-sites",
  },
  {
    word: "site",
    text: "The innermost call of the program's own code on the way to an allocation: all call paths that pass it last, together.",
    more: "concepts.md#blocks-and-sites",
  },
  {
    word: "call path",
    also: ["path", "context", "calling context"],
    text: "The calls that led to an allocation, innermost first. Recursion stands on it once.",
    more: "concepts.md#blocks-and-sites",
  },
  {
    word: "sample",
    also: ["samples", "cpu", "cpu time", "lost sample"],
    text: "The call path of a thread at a moment, taken each time that the thread has had its share of CPU time (memshade run --sample 97hz PROGRAM): so many samples of a hundred as a place has of the time. A lost one was due and not taken; the next one of its thread stands for it.",
    more: "native-programs.md#cpu-time",
  },
  {
    word: "call tree",
    also: ["total", "tree"],
    text: "All call paths laid over each other: a place with everything that it called is its total, what it did itself or had libraries do is its own. The totals of all that it called and its own are together its total.",
    more: "terminal.md#memshade-tree",
  },
  {
    word: "spread",
    also: ["within the spread", "median"],
    text: "How far the runs of one side of a comparison lie apart. A difference within it, where runs of both sides have such values, may be chance.",
    more: "terminal.md#several-runs-a-side",
  },
  {
    word: "own code",
    also: ["own", "library", "layer", "via"],
    text: "What is of no standard library, no runtime of a language and no layer on the allocator. A place is named by the first frame of own code, and what that called stands behind it: load (load.cc:7) via std::vector::push_back. --own and --library say otherwise.",
    more: "concepts.md#own-code",
  },
  {
    word: "lifetime",
    also: ["clock", "allocations"],
    text: "From a block's allocation to its release, on a clock that ticks once per allocation: 2,000 allocs means that 2,000 others were made meanwhile. With --clock wall, milliseconds.",
    more: "concepts.md#time",
  },
  {
    word: "live",
    also: ["at the end", "still live"],
    text: "Not released. What is live at the end was lost (a leak), or can still be reached and was meant to stay.",
    more: "concepts.md#how-much",
  },
  {
    word: "lost",
    also: ["indirectly lost", "left to the host"],
    text: "Live at the end, and no pointer to it is left in the program's memory and globals. Indirectly lost is what only lost blocks point to. In a module that JavaScript calls, the host may still hold the address.",
    more: "concepts.md#lost-or-still-reachable",
  },
  {
    word: "possibly lost",
    also: ["possible"],
    text: "Live at the end, and only addresses inside of the block are left, or variables of functions that were running may hold one.",
    more: "concepts.md#lost-or-still-reachable",
  },
  {
    word: "still reachable",
    also: ["reachable"],
    text: "Live at the end, and the program has pointers to it: a table, a cache, or a collection that was meant to stay.",
    more: "concepts.md#lost-or-still-reachable",
  },
  {
    word: "suppressed",
    also: ["suppression"],
    text: "Lost, and somebody has written to a file (--suppressions) that it is not to be told of, and why.",
    more: "concepts.md#suppressions",
  },
  {
    word: "accesses",
    also: ["access", "acc/b", "density", "accesses/b"],
    text: "Loads, stores and atomics of the program that fell into blocks. The density is accesses per byte.",
    more: "concepts.md#accesses",
  },
  {
    word: "touched",
    also: ["granule"],
    text: "The share of a site's granules (8 bytes each) that were accessed at least once; with ≥ at least so much, for accesses that were counted together are known by the place of the first.",
    more: "concepts.md#touched",
  },
  {
    word: "hot",
    also: ["notcold", "ambiguous"],
    text: "How LLVM's compiler would take an allocation call: cold, not cold, hot, or ambiguous where it depends on the callers.",
    more: "memprof.md",
  },
  {
    word: "left to host",
    also: ["host", "opaque"],
    text: "Bytes that were unread when a host of which nobody knows what it reads was in control: taken as read.",
    more: "tools/waste.md#what-the-words-mean",
  },
  {
    word: "typical",
    text: "Between these two shares lies the middle half of seventeen real programs. A share in it is no reason for worry, one above it is one for a look at the findings.",
    more: "tools/waste.md#what-is-typical",
  },
  {
    word: "object",
    also: ["objects", "object-bytes", "struct", "wasmgc"],
    text: "What a garbage-collected language makes with struct.new or array.new: it lives in the engine's heap, not in the module's memory. How many there are is counted exactly; their bytes are those of a model of the engine.",
    more: "tools/objects.md#what-the-numbers-mean",
  },
  {
    word: "in use",
    also: ["in-use", "objects-in-use"],
    text: "Objects that the engine has not taken away after it was asked to collect its garbage: an estimate (≈) by some of them that were followed, with its standard error (±). None of them is kept alive by that.",
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
    text: "Lines that had never been touched before.",
    more: "tools/working-set.md#what-the-numbers-mean",
  },
  {
    word: "phase",
    also: ["phases"],
    text: "Intervals in a row in which the program does one thing with about the same working set.",
    more: "tools/working-set.md#what-the-numbers-mean",
  },
  {
    word: "fill",
    text: "The part of the bytes of the touched lines that is touched itself.",
    more: "tools/working-set.md#whose-lines-they-are",
  },
  {
    word: "first touch",
    also: ["first-touch", "share", "owner"],
    text: "Who touched a line first in an interval; the share of an owner is the part of the lines that hold its blocks.",
    more: "tools/working-set.md#whose-lines-they-are",
  },
  {
    word: "limit",
    also: ["budget", "gate"],
    text: "What a measure of a run must be: peak<8MiB, left=0, dead<5%. memshade check compares, and ends with exit code 1 where one fails. Counts repeat to the byte, so that a limit can be exact.",
    more: "ci.md#limits",
  },
  {
    word: "baseline",
    text: "The run that limits with + and - in front of their amounts count from: peak<+5%.",
    more: "ci.md#limits",
  },
  {
    word: "miss ratio",
    also: ["misses", "reuse distance", "locality"],
    text: "The part of the references that a cache of a size would miss. It follows from reuse distances: how many other lines are referenced before a line is referenced again.",
    more: "tools/working-set.md#locality",
  },
];

/** All entries: findings, then other words, then measures without an entry among these. */
export const GLOSSARY: readonly GlossaryEntry[] = [
  ...FINDINGS,
  ...WORDS,
  ...ofMeasures([...FINDINGS, ...WORDS]),
];

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
