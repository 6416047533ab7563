export type { Deflate } from "./layout.ts";
export { isMemshadeProfile, MemshadeProfile } from "./read.ts";
export { spilledProfilePieces, type WrittenSizes } from "./spilled.ts";
export { type FunctionRecord, type ProfileOrigin, UNKNOWN_ORIGIN } from "./types.ts";
export { memshadeProfilePieces, writeMemshadeProfile } from "./write.ts";
