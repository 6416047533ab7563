/** Programs of which a report does not say what it should yet, each with the reason. Their tests are skipped as long as that holds. */
export const KNOWN_FAILURES: Readonly<Record<string, string>> = {
  "c/growing-sessions.c": "blocks that a global still reaches are no finding, however many there come to be",
  "c/kept-input.c": "what is kept too long is measured in allocations, and the program makes none meanwhile",
  "cpp/kept-index.cc":
    "what is kept too long is measured in allocations, and the program makes none meanwhile",
  "javascript/layouts-to-the-end.mjs":
    "what is kept too long is measured in allocations, and the program makes few meanwhile",
  "rust/growing-vec.rs": "it doubles, and realloc finds room behind the block each time: nothing is copied",
  "c/copied-to-sort.c": "a peak that one place makes for a moment is no finding",
  "assemblyscript/vector-per-step.as":
    "temporary blocks are those that are freed at once, and a collector frees late",
  "assemblyscript/summed-twice.as":
    "a store in a small function of a library is not told at the line that calls it",
  "javascript/unfreed-statements.mjs":
    "what a pointer in the module may still reach is no finding, and sql.js never gives back its first piece of stack",
  "javascript/unclosed-databases.mjs":
    "what a pointer in the module may still reach is no finding, and sql.js never gives back its first piece of stack",
  "javascript/endless-log.mjs":
    "blocks that are still reachable are no finding, however many there come to be",
  "javascript/unfreed-images.mjs":
    "JavaScript's collector frees them at the end, and whether the host still reads them is not known",
  "sound/tree.wasm": "what is kept too long is measured in allocations, and has no floor",
  "sound/samples.wasm":
    "what is kept too long is measured in allocations, and the program makes none meanwhile",
};
