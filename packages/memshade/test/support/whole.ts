// Joins the pieces of a file into one array.
import { joinPieces } from "../../src/ground/bytes/file-piece.ts";
import {
  memshadeProfilePieces,
  type ProfileOrigin,
} from "../../src/profile/formats/memshade-profile/index.ts";
import { pakoDeflate } from "../../src/profile/formats/memshade-profile/pako-deflate.ts";
import { type MemprofProfile, viewOf } from "../../src/profile/model/memprof/index.ts";

export const UNKNOWN_ORIGIN: ProfileOrigin = { inputs: 1, binaries: [], unmatched: [] };

export function writeMemshadeProfile(
  profile: MemprofProfile,
  origin: ProfileOrigin = UNKNOWN_ORIGIN,
): Uint8Array {
  return joinPieces(memshadeProfilePieces(viewOf(profile), origin, pakoDeflate));
}
