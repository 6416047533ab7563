export { addIndexed, readCallees, schemaBytes } from "./add-indexed.ts";
export { besidesMemprof, isIndexedProfile, readContainer } from "./container.ts";
export type { Cursor } from "./cursor.ts";
export type { ContainerVersion, MemprofVersion } from "./layout.ts";
export { writeMerged } from "./merged-profile.ts";
export { type LinearSection, openSection, readIndexed, readLinear } from "./read.ts";
export { writeIndexed } from "./write.ts";
