/** Programs of which a report does not say what it should yet, each with the reason. Their tests are skipped as long as that holds. */
export const KNOWN_FAILURES: Readonly<Record<string, string>> = {
  "c/kept-input.c":
    "it allocates nothing while it computes, and looks come by trips of loops, of which an earlier loop has made far more, and shorter ones",
  "javascript/unfreed-statements.mjs":
    "line numbers that SQLite hands to a function look like addresses between the allocator's own, so that its lists of free blocks count as pointers of the program",
  "javascript/layouts-to-the-end.mjs":
    "destructors read most of the nodes, and what frees a block is told from its uses by little being read",
  "c/ini-reader.c":
    "half of the blocks of the line that leaks are freed, and the function between that trims them asks for a size of its own",
  "cpp/json-tree.cc":
    "calls of functions that call each other are one, so that the leak is told where all values are made",
  "sound/sieve-blocks.wasm":
    "a table is filled, and most of it is overwritten one by one: that the rest is needed is not known",
  "assemblyscript/summed-twice.as":
    "a store in a small function of a library is told at the line that calls it with --contexts alone",
  "assemblyscript/heat-map.as":
    "a store in a small function of a library is told at the line that calls it with --contexts alone",
  "javascript/forgotten-worlds.mjs":
    "JavaScript's collector may free them before the end, as it does with what wasm-bindgen made, and then none is left",
  "javascript/unfreed-images.mjs":
    "JavaScript's collector frees them at the end, and whether the host still reads them is not known",
};
