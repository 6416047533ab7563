import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { sourceOfBytes } from "../../../../src/ground/bytes/byte-source.ts";
import { joinPieces } from "../../../../src/ground/bytes/file-piece.ts";
import {
  addIndexed,
  readIndexed,
  writeIndexed,
} from "../../../../src/profile/formats/memprof-indexed/index.ts";
import {
  HOT_COLD_FIELDS,
  type MemprofProfile,
  ProfileMerger,
} from "../../../../src/profile/model/memprof/index.ts";
import { MIB_FIELDS } from "../../../../src/profile/model/mib-fields.ts";
import { anyContext, type Context, mergerOf } from "./contexts.ts";

const OWN = fileURLToPath(new URL("../../../fixtures/memprof/", import.meta.url));
const OPTIONS = { version: 4, container: 13, schema: MIB_FIELDS, order: "stored" } as const;

function mergedBy(fields: typeof MIB_FIELDS, add: (merger: ProfileMerger) => void): MemprofProfile {
  const merger = new ProfileMerger(fields, false);
  add(merger);
  return merger.build().profile;
}

/** Merges files directly, and as profiles that were read before; expects the same result. */
function expectSame(files: readonly Uint8Array[], fields: typeof MIB_FIELDS): void {
  const streamed = mergedBy(fields, (merger) => {
    for (const [input, file] of files.entries()) addIndexed(sourceOfBytes(file), merger, input);
  });
  const whole = mergedBy(fields, (merger) => {
    for (const [input, file] of files.entries()) merger.addProfile(readIndexed(file).profile, input);
  });
  expect(joinPieces(writeIndexed(streamed, OPTIONS))).toEqual(joinPieces(writeIndexed(whole, OPTIONS)));
}

describe("an indexed profile that is merged from its file", () => {
  it("gives what it gives when it is read as a whole", () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(anyContext, { maxLength: 30 }), { minLength: 1, maxLength: 3 }),
        fc.constantFrom(2 as const, 3 as const, 4 as const),
        fc.constantFrom(HOT_COLD_FIELDS, MIB_FIELDS),
        fc.constantFrom(HOT_COLD_FIELDS, MIB_FIELDS),
        (inputs, version, schema, fields) => {
          const files = inputs.map((contexts) => {
            const { profile } = mergerOf(contexts).build();
            return joinPieces(writeIndexed(profile, { ...OPTIONS, version, schema }));
          });
          expectSame(files, fields);
        },
      ),
      { numRuns: 200 },
    );
  });

  it.each(["c-basic.v5.v4.full.memprofdata", "data-order.v4.memprofdata", "llvm19.v0.memprofdata"])(
    "gives the same of LLVM's own %s, twice",
    (name) => {
      const file = new Uint8Array(readFileSync(OWN + name));
      expectSame([file, file], MIB_FIELDS);
    },
  );

  it("has its deepest stacks read in time that grows with its size, however few frames they share", () => {
    const depth = 400;
    const contexts = Array.from(
      { length: 2000 },
      (_, index): Context => ({
        frames: Array.from({ length: depth }, (_, at) => ({
          guid: 5n,
          lineOffset: at === 0 ? index : at,
          column: 1,
          inline: false,
        })),
        count: 1,
        lifetime: 1n,
      }),
    );
    const file = joinPieces(writeIndexed(mergerOf(contexts).build().profile, OPTIONS));
    expectSame([file], HOT_COLD_FIELDS);
  });
});
