export { besidesMemprof, isIndexedProfile, readContainer } from "./container.ts";
export type { Cursor } from "./cursor.ts";
export type { ContainerVersion, MemprofVersion } from "./layout.ts";
export {
  addIndexed,
  type LinearSection,
  openSection,
  readCallees,
  readIndexed,
  readLinear,
  schemaBytes,
} from "./read.ts";
export { writeIndexed, writeMerged } from "./write.ts";
