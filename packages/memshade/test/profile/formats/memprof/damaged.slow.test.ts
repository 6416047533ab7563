import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FormatError } from "../../../../src/ground/bytes/errors.ts";
import { joinPieces } from "../../../../src/ground/bytes/file-piece.ts";
import { readIndexed, writeIndexed } from "../../../../src/profile/formats/memprof-indexed/index.ts";
import { scanRaw } from "../../../../src/profile/formats/memprof-raw/index.ts";
import { indexedProfileText } from "../../../../src/profile/formats/memprof-text/index.ts";
import { readMemprofYaml } from "../../../../src/profile/formats/memprof-text/read-yaml.ts";
import { MemshadeProfile } from "../../../../src/profile/formats/memshade-profile/index.ts";
import {
  HOT_COLD_FIELDS,
  type MemprofProfile,
  ProfileMerger,
} from "../../../../src/profile/model/memprof/index.ts";
import { MIB_FIELDS, zeroMib } from "../../../../src/profile/model/mib-fields.ts";
import { writeMemshadeProfile } from "../../../support/whole.ts";

const OWN = fileURLToPath(new URL("../../../fixtures/memprof/", import.meta.url));
const read = (name: string) => new Uint8Array(readFileSync(OWN + name));

const indexed = read("c-basic.v5.v4.full.memprofdata");
const whole = readIndexed(indexed).profile;

const FORMATS: readonly [string, Uint8Array, (bytes: Uint8Array) => MemprofProfile | undefined][] = [
  ["indexed version 2", read("c-basic.v5.v2.memprofdata"), (bytes) => readIndexed(bytes).profile],
  ["indexed version 3", read("c-basic.v5.v3.memprofdata"), (bytes) => readIndexed(bytes).profile],
  ["indexed version 4", indexed, (bytes) => readIndexed(bytes).profile],
  ["indexed version 0", read("llvm19.v0.memprofdata"), (bytes) => readIndexed(bytes).profile],
  ["indexed version 1", read("llvm19.v1.memprofdata"), (bytes) => readIndexed(bytes).profile],
  ["data accesses", read("data-order.v4.memprofdata"), (bytes) => readIndexed(bytes).profile],
  ["YAML", read("c-basic.v5.v4.yaml"), (bytes) => readMemprofYaml(bytes)],
  ["memshade", writeMemshadeProfile(whole), (bytes) => new MemshadeProfile(bytes).whole()],
  ["raw", read("threads.v5.memprofraw"), (bytes) => void scanRaw(bytes)],
];

/** Expects a result or a typed error; a result can be merged and written. */
function expectTotal(bytes: Uint8Array, parse: (bytes: Uint8Array) => MemprofProfile | undefined): void {
  let profile: MemprofProfile | undefined;
  try {
    profile = parse(bytes);
  } catch (error) {
    expect(error).toBeInstanceOf(FormatError);
    return;
  }
  if (profile === undefined) return;
  expect(profile.stacks.length).toBeLessThanOrEqual(64 * bytes.length + 2 ** 20);
  const merger = new ProfileMerger(HOT_COLD_FIELDS, false);
  merger.addProfile(profile, 0);
  const merged = merger.build().profile;
  const options = { version: 3, container: 13, schema: HOT_COLD_FIELDS, order: "stored" } as const;
  const written = joinPieces(writeIndexed(merged, options));
  expect([...indexedProfileText(readIndexed(written).profile)].length).toBeGreaterThan(1);
}

describe.each(FORMATS)("a damaged profile: %s", (_name, good, parse) => {
  it("ends in a result or a typed error wherever it is cut", () => {
    for (let length = 0; length < good.length; length += Math.ceil(good.length / 150))
      expectTotal(good.slice(0, length), parse);
  });

  it("ends in a result or a typed error whatever bytes are changed", () => {
    const change = fc.record({
      at: fc.nat(good.length - 1),
      bytes: fc.oneof(
        fc.uint8Array({ minLength: 1, maxLength: 8 }),
        fc.constantFrom([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], [0, 0, 0, 0, 0, 0, 0, 0], [0x80]),
      ),
    });
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 4 }), (changes) => {
        const bytes = good.slice();
        for (const { at, bytes: values } of changes) bytes.set([...values].slice(0, bytes.length - at), at);
        expectTotal(bytes, parse);
      }),
      { numRuns: 250 },
    );
  });

  it("ends in a typed error for random bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        expect(() => parse(bytes)).toThrow(FormatError);
        expectTotal(new Uint8Array([...good.subarray(0, 8), ...bytes]), parse);
      }),
      { numRuns: 100 },
    );
  });
});

const anyProfile: fc.Arbitrary<MemprofProfile> = fc
  .array(
    fc.record({
      frames: fc.array(
        fc.record({
          guid: fc.constantFrom(1n, 2n, 3n, 2n ** 64n - 1n),
          lineOffset: fc.constantFrom(0, 1, 70_000, 2 ** 32 - 2),
          column: fc.nat(3),
          inline: fc.boolean(),
        }),
        { minLength: 1, maxLength: 6 },
      ),
      count: fc.integer({ min: 1, max: 1000 }),
      size: fc.bigInt({ min: 0n, max: 2n ** 63n }),
    }),
    { maxLength: 12 },
  )
  .map((contexts) => {
    const merger = new ProfileMerger(MIB_FIELDS, false);
    for (const { frames, count, size } of contexts) {
      const stack = frames.reduceRight(
        (outer, frame) => merger.stacks.child(outer, merger.frames.intern(frame)),
        0,
      );
      const known = merger.contexts.length;
      const row = merger.contexts.rowOf(stack);
      if (row === known)
        merger.blocks.addMib({ ...zeroMib(), allocCount: count, totalSize: size }, row, true, 0);
      for (const { guid } of frames.slice(1)) merger.callSites.add(guid, stack, [BigInt(count)]);
    }
    return merger.build().profile;
  });

describe("profiles of any shape", () => {
  it("come back from every form as they were", () => {
    fc.assert(
      fc.property(anyProfile, fc.constantFrom(2, 3, 4), (profile, version) => {
        const write = (content: MemprofProfile) =>
          joinPieces(writeIndexed(content, { version, container: 12, schema: MIB_FIELDS, order: "stored" }));
        const bytes = write(profile);
        const merger = new ProfileMerger(MIB_FIELDS, false);
        merger.addProfile(readIndexed(bytes).profile, 0);
        expect(write(merger.build().profile)).toEqual(bytes);
        const kept = new MemshadeProfile(writeMemshadeProfile(profile)).whole();
        expect(write(kept)).toEqual(bytes);
        const text = [...indexedProfileText(profile)].join("");
        const fromText = readMemprofYaml(new TextEncoder().encode(text));
        expect([...indexedProfileText(fromText)].join("")).toBe(text);
      }),
      { numRuns: 150 },
    );
  });

  it("merge to the same whatever the order and the grouping", () => {
    fc.assert(
      fc.property(fc.array(anyProfile, { minLength: 2, maxLength: 4 }), (profiles) => {
        const merge = (parts: readonly MemprofProfile[]) => {
          const merger = new ProfileMerger(HOT_COLD_FIELDS, false);
          for (const [number, part] of parts.entries()) merger.addProfile(part, number);
          return merger.build().profile;
        };
        const bytes = (profile: MemprofProfile) =>
          joinPieces(
            writeIndexed(profile, { version: 4, container: 13, schema: HOT_COLD_FIELDS, order: "stored" }),
          );
        const all = bytes(merge(profiles));
        expect(bytes(merge(profiles.toReversed()))).toEqual(all);
        expect(bytes(merge([merge(profiles.slice(0, 1)), merge(profiles.slice(1))]))).toEqual(all);
      }),
      { numRuns: 100 },
    );
  });
});
