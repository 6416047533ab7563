import fs from "node:fs";
import path from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FormatError } from "../../../../src/ground/bytes/errors.ts";
import {
  type RawProfile,
  readRaw,
  readRawDumps,
  writeRaw,
} from "../../../../src/profile/formats/memprof-raw/index.ts";
import { mergeMib } from "../../../../src/profile/model/mib.ts";
import { rawProfile } from "./arbitrary.ts";
import { ownFixtures, rawProfilesBelow, readBytes, sharedFixtures, textualDumps } from "./fixtures.ts";

const capture = () => readBytes(path.join(ownFixtures, "c-basic.v5.memprofraw"));

for (const directory of [ownFixtures, sharedFixtures].filter((found) => found !== undefined)) {
  const where = directory === ownFixtures ? "of the repository" : "beside the repository";
  describe(`profiles ${where}`, () => {
    for (const file of rawProfilesBelow(directory)) {
      const name = path.relative(directory, file);

      it(`${name} reads as its textual dump says`, () => {
        const expected = JSON.parse(fs.readFileSync(file.replace(/memprofraw$/, "raw.json"), "utf8"));
        expect(textualDumps(readRawDumps(readBytes(file)))).toEqual(expected);
      });

      it(`${name} comes back byte for byte, dump by dump, but for stale pointers`, () => {
        const bytes = readBytes(file);
        for (const dump of readRawDumps(bytes)) {
          const { fileOffset, totalSize, version } = dump;
          const original = bytes.slice(fileOffset, fileOffset + totalSize);
          const profile = readRaw(original);
          expect(Buffer.compare(writeRaw(profile, version), clearPointers(original))).toBe(0);
        }
      });
    }
  });
}

/** Sets field 27 of every MIB to 0, as a writer must. */
function clearPointers(dump: Uint8Array<ArrayBuffer>): Uint8Array {
  const [{ version, mibOffset, mibs }] = readRawDumps(dump) as [ReturnType<typeof readRawDumps>[0]];
  const view = new DataView(dump.buffer);
  let position = mibOffset + 8;
  for (const { mib } of mibs) {
    if (version > 3) view.setBigUint64(position + 8 + 136, 0n, true);
    const entryBytes = version === 3 ? 0 : version === 4 ? 8 : 2;
    position += 8 + (version === 3 ? 132 : 144) + mib.accessHistogramSize * entryBytes;
  }
  return dump;
}

describe("the worked example of the format's description", () => {
  it("finds the table of 8000 bytes and its five PCs", () => {
    const { segments, contexts, version } = readRaw(capture());
    expect(version).toBe(5);
    expect(segments).toHaveLength(7);
    expect(segments[0]).toMatchObject({
      start: 0x5563f4ca6000n,
      end: 0x5563f4d07279n,
      offset: 0x5563f4c7e000n,
    });
    expect(contexts).toHaveLength(6);
    expect(contexts[0]).toMatchObject({
      stackId: 1n,
      mib: { allocCount: 1, totalAccessCount: 1001n, totalSize: 8000n, totalLifetimeAccessDensity: 12000n },
      pcs: [0x5563f4cdb423n, 0x5563f4d07156n, 0x5563f4d070a1n, 0x5563f4d06fa1n, 0x7f624261a249n],
    });
  });
});

describe("several dumps in one file", () => {
  it("are merged context by context, in the order the stack ids were first seen", () => {
    const bytes = readBytes(path.join(ownFixtures, "threads.v5.memprofraw"));
    const [first, second] = readRawDumps(bytes).map(
      ({ mibs }) => new Map(mibs.map((row) => [row.stackId, row.mib])),
    );
    const { contexts } = readRaw(bytes);
    expect(contexts.map(({ stackId }) => stackId)).toEqual([
      ...new Set([...first!.keys(), ...second!.keys()]),
    ]);
    for (const { stackId, mib } of contexts) {
      const [a, b] = [first!.get(stackId), second!.get(stackId)];
      expect(mib).toEqual(a && b ? mergeMib(a, b) : (a ?? b));
    }
  });

  it("may have different versions; the last one counts", () => {
    const profile = readRaw(capture());
    const both = Buffer.concat([writeRaw(profile, 3), writeRaw(profile, 4)]);
    expect(readRaw(both).version).toBe(4);
  });

  it("leave no trace of the merge in the dumps themselves", () => {
    const profile = readRaw(Buffer.concat([capture(), capture()]));
    expect(profile.contexts[0]!.mib).toMatchObject({ allocCount: 2, totalSize: 16000n, numSameAllocCpu: 1 });
    expect(readRaw(capture()).contexts[0]!.mib.allocCount).toBe(1);
  });
});

describe("bad input", () => {
  interface Damage {
    name: string;
    base: string;
    patches?: { offset: number; hex: string }[];
    truncateTo?: number;
    appendHex?: string;
    appendCopy?: { offset: number; hex: string }[];
    referenceMessage: string;
  }

  // Faults of the raw file itself, not of the binary given with it.
  const kinds = new Map([
    ["bad magic", "bad-magic"],
    ["truncated profile", "truncated"],
    ["unsupported instrumentation profile format version", "unsupported-version"],
    ["malformed instrumentation profile data", "malformed"],
  ]);
  const damages: Damage[] = JSON.parse(fs.readFileSync(path.join(ownFixtures, "damaged.json"), "utf8"));

  for (const damage of damages.filter(({ base }) => base === "c-basic/v5-static.memprofraw")) {
    // The reference tool reports a file that is too short for a dump as one of an unknown version.
    const reference = [...kinds].find(([message]) => damage.referenceMessage.includes(message))?.[1];
    const kind = damage.appendHex === undefined ? reference : "malformed";
    it(`"${damage.name}" is ${kind ?? "read"}`, () => {
      const read = () => readRaw(apply(damage));
      if (kind === undefined) {
        expect(read().version).toBe(5);
      } else {
        expect(read).toThrow(FormatError);
        expect(read).toThrow(expect.objectContaining({ kind }));
      }
    });
  }

  function apply({ patches = [], truncateTo, appendHex = "", appendCopy }: Damage): Uint8Array {
    const patch = (changes: { offset: number; hex: string }[]) => {
      const bytes = Buffer.from(capture());
      for (const { offset, hex } of changes) bytes.set(Buffer.from(hex, "hex"), offset);
      return bytes;
    };
    const parts = [patch(patches).subarray(0, truncateTo), Buffer.from(appendHex, "hex")];
    return Buffer.concat(appendCopy === undefined ? parts : [...parts, patch(appendCopy)]);
  }

  function withU64(offset: number, value: bigint): Uint8Array {
    const bytes = capture();
    new DataView(bytes.buffer).setBigUint64(offset, value, true);
    return bytes;
  }

  it("a dump of size 0 does not loop for ever", () => {
    expect(() => readRaw(withU64(16, 0n))).toThrow(/the dump says it is 0 bytes long/);
  });

  it("sections outside of the dump, out of order, or too small for their counts are named", () => {
    expect(() => readRaw(withU64(24, 1n << 40n))).toThrow(/SegmentOffset 1099511627776 is outside/);
    expect(() => readRaw(withU64(40, 48n))).toThrow(/StackOffset 48 is outside of the dump or out of order/);
    expect(() => readRaw(withU64(48, 1n << 60n))).toThrow(/segment section at offset 0x38/);
    expect(() => readRaw(withU64(0x1f8, 7n))).toThrow(/MIB section/);
    expect(() => readRaw(withU64(0x598 + 8, 1n << 61n))).toThrow(/call stack of 18446744073709551616 bytes/);
    expect(() => readRaw(withU64(80, 33n))).toThrow(/a build id of 33 bytes/);
  });

  it("a rest behind the last dump that is too short for one is named as damage", () => {
    const bytes = capture();
    expect(() => readRaw(Buffer.concat([bytes, Buffer.from("junk\n")]))).toThrow(
      expect.objectContaining({ kind: "malformed", construct: "rest of the file", offset: bytes.length }),
    );
  });

  it("a later dump without magic is named with its offset", () => {
    const bytes = Buffer.concat([capture(), capture()]);
    bytes[1696] = 0;
    expect(() => readRaw(bytes)).toThrow(expect.objectContaining({ kind: "bad-magic", offset: 1696 }));
  });

  it("any bytes end in a profile or a FormatError", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), fc.boolean(), (tail, withHeader) => {
        readOrFormatError(withHeader ? Buffer.concat([capture().subarray(0, 48), tail]) : tail);
      }),
    );
  });

  it("any damaged profile ends in a profile or a FormatError", () => {
    const change = fc.record({
      at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      byte: fc.nat(255),
    });
    fc.assert(
      fc.property(
        rawProfile,
        fc.constantFrom(3, 4, 5),
        fc.array(change, { maxLength: 4 }),
        fc.nat(),
        (profile, version, changes, cut) => {
          const bytes = writeRaw(profile, version);
          for (const { at, byte } of changes) bytes[Math.floor(at * bytes.length)] = byte;
          readOrFormatError(bytes);
          readOrFormatError(bytes.subarray(0, cut % bytes.length));
        },
      ),
    );
  });

  function readOrFormatError(bytes: Uint8Array): RawProfile | FormatError {
    try {
      const profile = readRaw(bytes);
      expect(profile.contexts.length * 16).toBeLessThanOrEqual(bytes.length);
      return profile;
    } catch (error) {
      expect(error).toBeInstanceOf(FormatError);
      return error as FormatError;
    }
  }
});
