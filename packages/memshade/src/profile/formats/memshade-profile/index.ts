export type { Deflate } from "./layout.ts";
export { isMemshadeProfile, MemshadeProfile } from "./read.ts";
export { spilledProfilePieces } from "./spilled.ts";
export type { ProfileOrigin } from "./types.ts";
export { memshadeProfilePieces } from "./write.ts";
