import { nearest } from "../analyses/nearest-words.ts";

/** A word of the reports that needs explaining. docs/glossary.md is made of these. */
export interface GlossaryEntry {
  readonly word: string;
  /** Other words for it. */
  readonly also?: readonly string[] | undefined;
  /** Sentences. */
  readonly text: string;
  /** Of a finding: what to try. */
  readonly advice?: string | undefined;
  /** Page below docs/ with more, and its heading. */
  readonly more?: string | undefined;
}

/** Kinds of findings: what `memshade report` begins with. */
const FINDINGS: readonly GlossaryEntry[] = [
  {
    word: "leak",
    also: ["leaks"],
    text: "Blocks that were never released, though nothing will use them any more: lost ones, ones that are left to the host, or a collection that only grows.",
    advice: "Release them where their owner ends, or let an owner do it (a destructor, free, delete()).",
    more: "concepts.md#lost-or-still-reachable",
  },
  {
    word: "unused",
    also: ["never accessed"],
    text: "Blocks that no instruction of the program read or wrote between their allocation and their end.",
    advice: "Allocate them when they are needed first.",
    more: "concepts.md#unused-blocks",
  },
  {
    word: "never-read",
    also: ["written but never read", "unread"],
    text: "Blocks that were written and that nobody read: what is put into them is made in vain.",
    advice: "Drop them, or make them only where somebody asks for what is in them.",
    more: "concepts.md#unused-blocks",
  },
  {
    word: "unread-data",
    also: ["untouched data"],
    text:
      "A table or variable of the program that this run reads nothing of, or less than half. It is in the module's file and in its " +
      "memory from the start; zeros that nobody touches are in neither, and are not told.",
    advice:
      "Make it smaller, make or load it when it is needed first, or leave it out of the build. Other input may need it.",
    more: "concepts.md#static-data",
  },
  {
    word: "unread-field",
    text: "A field of garbage-collected objects that no instruction read in any of them, neither as their type nor as one that it extends or that extends it.",
    advice:
      "Leave the field out, or keep it in a subtype or a table of the few objects that need it. Other input may read it.",
    more: "tools/objects.md#fields",
  },
  {
    word: "unread-objects",
    text: "Garbage-collected objects of a type of which no instruction read a field or an element: they are made, and at most written, and thrown away.",
    advice:
      "Do not make them, or make them only where somebody looks into them. Comparing references and testing types is no reading.",
    more: "tools/objects.md#fields",
  },
  {
    word: "churn",
    also: ["temporary", "short-lived"],
    text: "Blocks that are freed before the next but one allocation, again and again: the allocator does most of the work. A block that lives that long is called temporary.",
    advice: "Take one block out of the loop and use it again, or a variable on the stack.",
    more: "concepts.md#time",
  },
  {
    word: "growth",
    text: "Blocks that become larger step by step, each time by way of a new block and a copy: vectors, strings, realloc. Many small steps of realloc are one too where it finds room behind the block.",
    advice: "Reserve the final size first, or grow by a half or more at a time.",
  },
  {
    word: "over-capacity",
    text: "Large blocks of which the end was never used.",
    advice: "Ask for less, or give back what is left over.",
  },
  {
    word: "peak",
    text:
      "The moment when most bytes of blocks were live, and how many that were. As a finding: one place makes more than half of it, and " +
      "the program does more than half of its other work without these blocks.",
    advice: "Work in parts, or in place, so that less is there at once.",
    more: "concepts.md#how-much",
  },
  {
    word: "drag",
    also: ["kept too long"],
    text: "The time from the last access to a block until it is freed: the block is dead, and still there.",
    advice: "Release it where it was used last.",
    more: "concepts.md#drag",
  },
  {
    word: "dead",
    text: "Stored bytes that are overwritten before anything reads them. (Bytes that nobody had read when their block or frame ended are dead too, and told apart: they are the price of having fields.)",
    advice: "Leave the store out, or move it to the paths on which the value is read.",
    more: "tools/waste.md#what-the-words-mean",
  },
  {
    word: "silent",
    text: "A store of what is there already, in every byte; a load whose bytes were all read before and have not been stored since.",
    advice: "Compare before you store, or store only when the value was computed anew.",
    more: "tools/waste.md#what-the-words-mean",
  },
  {
    word: "redundant",
    text: "A load that finds what the load of these bytes before it found.",
    advice: "Keep the value in a local variable if it is loaded again close by.",
    more: "tools/waste.md#what-the-words-mean",
  },
  {
    word: "clear",
    text: "Memory that is cleared and filled before anybody reads it, or cleared where it was clear.",
    advice: "Leave the clear out.",
    more: "tools/waste.md#reports",
  },
  {
    word: "write-only",
    text: "Members of a type, or offsets in blocks, that are written and never read.",
    advice: "Drop the member, or do not fill it in where nobody asks for it.",
    more: "tools/waste.md#blocks-and-their-members",
  },
  {
    word: "cold",
    text: "Members that are hardly ever accessed beside others that are: they take room in the cache lines of those. Of blocks: accessed so rarely, and living so long, that LLVM would place them apart.",
    advice: "Move them behind a pointer, or to the end.",
    more: "tools/waste.md#blocks-and-their-members",
  },
  {
    word: "moved",
    text: "Blocks that realloc copies again and again, because they are made larger in small steps.",
    advice: "Make them larger by a half at a time, or ask for all of it at once.",
    more: "tools/waste.md#reports",
  },
];

const WORDS: readonly GlossaryEntry[] = [
  {
    word: "finding",
    also: ["summary", "part"],
    text: "Something that a person can act on. A run has at most five of them, of all tools together, in the order of their parts: how much of all that the program has or does of that sort (bytes at the peak, bytes written, …) goes when the finding is mended. Less than one per cent is none; of what every program is a little (dead, clear, silent, redundant, churn, unused, never-read, write-only, cold, unread-field, unread-objects), less than five.",
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

/** All words, those of findings first. */
export const GLOSSARY: readonly GlossaryEntry[] = [...FINDINGS, ...WORDS];

/** The entry of a word, in whatever case, also by another word for it. */
export function glossaryEntry(text: string): GlossaryEntry | undefined {
  const asked = plain(text);
  return GLOSSARY.find(({ word, also = [] }) => [word, ...also].some((name) => plain(name) === asked));
}

/** The words that are most like a text, at most three. */
export function nearestWords(text: string): string[] {
  const names = GLOSSARY.flatMap(({ word, also = [] }) =>
    [word, ...also].map((name) => ({ word, name: plain(name) })),
  );
  return nearest(plain(text), names).slice(0, 3);
}

function plain(text: string): string {
  return text
    .toLowerCase()
    .replace(/[-_\s]+/g, " ")
    .trim();
}
