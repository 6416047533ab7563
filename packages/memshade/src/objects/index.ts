export * from "./debug-files.ts";
export { PT_NOTE } from "./elf/constants.ts";
export { type ElfNote, readNotes } from "./elf/notes.ts";
export { type PltStub, PltStubs } from "./elf/plt.ts";
export { readString } from "./elf/symbols.ts";
export { loadBias } from "./load-bias.ts";
export { openObject } from "./open-object.ts";
export { type ObjectSymbol, SymbolTable } from "./symbol-table.ts";
export type * from "./types.ts";
