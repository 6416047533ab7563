export * from "./debug-files.ts";
export { openObject } from "./open-object.ts";
export { type ObjectSymbol, type SymbolBinding, type SymbolKind, SymbolTable } from "./symbol-table.ts";
export type * from "./types.ts";
