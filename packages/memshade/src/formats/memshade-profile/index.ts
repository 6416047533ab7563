export type { Deflate } from "./layout.ts";
export { type FunctionRecord, isMemshadeProfile, MemshadeProfile } from "./read.ts";
export { spilledProfilePieces, type WrittenSizes } from "./spilled.ts";
export {
  memshadeProfilePieces,
  type ProfileOrigin,
  UNKNOWN_ORIGIN,
  writeMemshadeProfile,
} from "./write.ts";
