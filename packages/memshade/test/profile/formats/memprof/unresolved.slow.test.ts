import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { joinPieces } from "../../../../src/ground/bytes/file-piece.ts";
import { functionGuid, RawAdder, type RawModule } from "../../../../src/profile/formats/memprof/index.ts";
import { writeIndexed } from "../../../../src/profile/formats/memprof-indexed/index.ts";
import { scanRaw } from "../../../../src/profile/formats/memprof-raw/index.ts";
import { MemshadeProfile } from "../../../../src/profile/formats/memshade-profile/index.ts";
import {
  HOT_COLD_FIELDS,
  isUnresolved,
  type MemprofProfile,
  ProfileMerger,
  type UnresolvedPlace,
  unresolvedName,
} from "../../../../src/profile/model/memprof/index.ts";
import { writeMemshadeProfile } from "../../../support/whole.ts";
import { captures, knownModule } from "./captures.ts";

const ELSEWHERE = "00ff";

/** Splits the profile's only module in two at an address: of the upper part only the range is known. */
function splitModule(module: RawModule, at: number): RawModule[] {
  const upper: RawModule = {
    ...module,
    key: `[${ELSEWHERE}]`,
    start: at,
    framesAt: (address) => {
      if (module.framesAt(address).length === 0) return [];
      const name = unresolvedName({ buildId: ELSEWHERE, offset: address });
      return [{ guid: functionGuid(name), lineOffset: 0, column: 0, inline: false, name }];
    },
  };
  return [{ ...module, end: at }, upper];
}

function mergerWith(add: (merger: ProfileMerger) => void, isWhole: boolean): MemprofProfile {
  const merger = new ProfileMerger(HOT_COLD_FIELDS, isWhole, isWhole);
  add(merger);
  return merger.build().profile;
}

const bytesOf = (profile: MemprofProfile) =>
  Buffer.from(
    joinPieces(
      writeIndexed(profile, { version: 4, container: 13, schema: HOT_COLD_FIELDS, order: "stored" }),
    ),
  ).toString("hex");

describe("frames in a module without debug information", () => {
  for (const capture of captures())
    it(`${capture.name}: are found later, or left out later, as if that had been so from the start`, () => {
      const scan = scanRaw(readFileSync(capture.raw));
      const module = knownModule(capture);
      fc.assert(
        fc.property(fc.double({ min: 0, max: 1, noNaN: true }), (share) => {
          const [lower, upper] = splitModule(
            module,
            module.start + Math.floor(share * (module.end - module.start)),
          );
          const addWith = (modules: readonly RawModule[]) => (merger: ProfileMerger) =>
            void new RawAdder(merger, false).add(scan, modules, 0);
          const places = mergerWith(addWith([lower!, upper!]), true);
          const stored = new MemshadeProfile(writeMemshadeProfile(places)).whole();
          const later = (resolve?: (place: UnresolvedPlace) => ReturnType<RawModule["framesAt"]>) =>
            mergerWith((merger) => void merger.addProfile(stored, 0, undefined, resolve), false);
          expect(bytesOf(later())).toBe(bytesOf(mergerWith(addWith([lower!]), false)));
          expect(bytesOf(later(({ offset }) => module.framesAt(offset)))).toBe(
            bytesOf(mergerWith(addWith([module]), false)),
          );
          const found = mergerWith((merger) => {
            merger.addProfile(stored, 0, undefined, ({ offset }) => module.framesAt(offset));
          }, true);
          const known = mergerWith(addWith([module]), true);
          expect(writeMemshadeProfile(found)).toEqual(writeMemshadeProfile(known));
        }),
        { numRuns: 15 },
      );
    });

  it("have names that no function has", () => {
    const name = unresolvedName({ buildId: "00ff", offset: 0x1a2b });
    expect(name).toBe("[00ff]+0x1a2b");
    expect(["main", "operator new[](unsigned long)", "[abi:cxx11]", "", undefined].some(isUnresolved)).toBe(
      false,
    );
  });
});
