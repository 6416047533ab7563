export { addIndexed } from "./add-indexed.ts";
export { joinChunks } from "./chunk-writer.ts";
export { type Container, isIndexedProfile, readContainer } from "./container.ts";
export { canonicalSymbol } from "./data-access.ts";
export type { ContainerVersion, MemprofVersion } from "./layout.ts";
export { type MergedIndexed, writeMerged } from "./merged-profile.ts";
export { type IndexedProfile, readIndexed } from "./read.ts";
export type { WriteIndexedOptions } from "./section-parts.ts";
export { writeIndexed } from "./write.ts";
