export { addIndexed, readCallees, schemaBytes } from "./add-indexed.ts";
export { type Container, isIndexedProfile, readContainer } from "./container.ts";
export type { Cursor } from "./cursor.ts";
export { canonicalSymbol } from "./data-access.ts";
export type { ContainerVersion, MemprofVersion } from "./layout.ts";
export { type MergedIndexed, writeMerged } from "./merged-profile.ts";
export { type IndexedProfile, type LinearSection, openSection, readIndexed, readLinear } from "./read.ts";
export type { WriteIndexedOptions } from "./section-parts.ts";
export { writeIndexed } from "./write.ts";
