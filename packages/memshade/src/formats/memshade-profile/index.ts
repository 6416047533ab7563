export type { Deflate } from "./layout.ts";
export { isMemshadeProfile, MemshadeProfile } from "./read.ts";
export { spilledProfilePieces } from "./spilled.ts";
export { type ProfileOrigin, UNKNOWN_ORIGIN } from "./types.ts";
export { memshadeProfilePieces, writeMemshadeProfile } from "./write.ts";
