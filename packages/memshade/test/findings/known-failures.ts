/** Programs of which a report does not say what it should yet, each with the reason. Their tests are skipped as long as that holds. */
export const KNOWN_FAILURES: Readonly<Record<string, string>> = {
  "c/kept-input.c":
    "nobody looks at blocks while nothing is allocated, so it is not seen that this one is idle then",
  "cpp/kept-index.cc":
    "nobody looks at blocks while nothing is allocated, and the destructor of a map reads its nodes",
  "javascript/layouts-to-the-end.mjs":
    "what is kept too long is measured in allocations, and the program makes few meanwhile",
  "rust/growing-vec.rs": "it doubles, and realloc finds room behind the block each time: nothing is copied",
  "c/copied-to-sort.c": "a peak that one place makes for a moment is no finding",
  "assemblyscript/vector-per-step.as":
    "temporary blocks are those that are freed at once, and a collector frees late",
  "assemblyscript/summed-twice.as":
    "a store in a small function of a library is not told at the line that calls it",
  "javascript/unfreed-statements.mjs":
    "free lists of the allocator are taken for pointers: line numbers in SQLite's code look like addresses of others between them",
  "javascript/unfreed-images.mjs":
    "JavaScript's collector frees them at the end, and whether the host still reads them is not known",
};
