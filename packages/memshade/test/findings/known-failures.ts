/** Programs of which a report does not say what it should yet, each with the reason. Their tests are skipped as long as that holds. */
export const KNOWN_FAILURES: Readonly<Record<string, string>> = {
  "c/kept-input.c":
    "it allocates nothing while it computes, and looks come by trips of loops, of which an earlier loop has made far more, and shorter ones",
  "javascript/unfreed-statements.mjs":
    "line numbers that SQLite hands to a function look like addresses between the allocator's own, so that its lists of free blocks count as pointers of the program",
  "javascript/layouts-to-the-end.mjs":
    "destructors read most of the nodes, and what frees a block is told from its uses by little being read",
  "c/mail-filter.c":
    "the leak is told at the function that copies texts, and not at the one that asks it for one",
  "c/copied-to-sort.c":
    "a peak that one place makes for a moment is no finding: by work, this one lives for two fifths of the run",
  "assemblyscript/summed-twice.as":
    "a store in a small function of a library is told at the line that calls it with --contexts alone",
  "assemblyscript/heat-map.as":
    "a store in a small function of a library is told at the line that calls it with --contexts alone",
  "javascript/forgotten-worlds.mjs":
    "JavaScript's collector may free them before the end, as it does with what wasm-bindgen made, and then none is left",
  "javascript/unfreed-images.mjs":
    "JavaScript's collector frees them at the end, and whether the host still reads them is not known",
};
