import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { sourceOfBytes } from "../../../../src/ground/bytes/byte-source.ts";
import { joinPieces } from "../../../../src/ground/bytes/file-piece.ts";
import { symbolizeRaw } from "../../../../src/profile/formats/memprof/index.ts";
import {
  type MemprofVersion,
  readIndexed,
  writeIndexed,
} from "../../../../src/profile/formats/memprof-indexed/index.ts";
import {
  contextsOfScan,
  scanRaw,
  stacksInLlvmOrder,
} from "../../../../src/profile/formats/memprof-raw/index.ts";
import { indexedProfileText, rawProfileText } from "../../../../src/profile/formats/memprof-text/index.ts";
import { readMemprofYaml } from "../../../../src/profile/formats/memprof-text/read-yaml.ts";
import { blockColumn, HOT_COLD_FIELDS } from "../../../../src/profile/model/memprof/index.ts";
import { MIB_FIELDS } from "../../../../src/profile/model/mib-fields.ts";
import { sharedPath } from "../../../shared-path.ts";
import { captures, expectedFile, knownFramesAt } from "./captures.ts";

const OWN = fileURLToPath(new URL("../../../fixtures/memprof/", import.meta.url));

function textOf(pieces: Iterable<string>): string {
  return [...pieces].join("");
}

describe.each(captures())("$name", (capture) => {
  const scan = scanRaw(readFileSync(capture.raw));
  const framesAt = knownFramesAt(capture);
  const stacks = () => stacksInLlvmOrder(sourceOfBytes(new Uint8Array(readFileSync(capture.raw))));
  const symbolized = symbolizeRaw({ ...contextsOfScan(scan), stacks }, { framesAt, keepsSources: false });
  const { profile } = symbolized;

  it("prints as llvm-profdata prints the raw profile", () => {
    const { profile: withNames, ...rest } = symbolizeRaw(contextsOfScan(scan), { framesAt });
    expect(
      textOf(rawProfileText({ version: scan.lastVersion, segments: scan.segments, ...rest }, withNames)),
    ).toBe(expectedFile(capture, ".raw.yaml")!.toString());
  });

  it.each([2, 3, 4] as const)("is indexed byte for byte as LLVM does in version %d", (version) => {
    const expected = expectedFile(capture, `.v${version}.memprofdata`);
    if (expected === undefined) return expect(capture.name).toMatch(/v3-converted|v4-converted|run2/);
    const stackOrder = symbolized.stackOrder();
    const options = {
      version,
      container: 13,
      schema: HOT_COLD_FIELDS,
      order: "inserted",
      stackOrder,
    } as const;
    expect(Buffer.from(joinPieces(writeIndexed(profile, options))).equals(expected)).toBe(true);
  });

  it("is indexed with the full schema, but for the address of the histogram", () => {
    const expected = expectedFile(capture, ".v4.full.memprofdata");
    if (expected === undefined) return expect(capture.name).toMatch(/v3-converted|v4-converted|run2/);
    const written = joinPieces(
      writeIndexed(profile, { version: 4, container: 13, schema: MIB_FIELDS, order: "inserted" }),
    );
    const entries = blockColumn(profile.blocks, "accessHistogramSize");
    if (entries?.every((count) => Number(count) === 0)) {
      expect(Buffer.from(written).equals(expected)).toBe(true);
    } else {
      const shown = (bytes: Uint8Array) => textOf(indexedProfileText(readIndexed(bytes).profile));
      expect(shown(written)).toBe(shown(expected).replaceAll(/(AccessHistogram: ).*/g, "$10"));
    }
  });

  it.each(["", ".full"])("prints as llvm-profdata prints the indexed profile%s", (suffix) => {
    const expected = expectedFile(capture, `.v4${suffix}.yaml`);
    if (expected === undefined) return expect(capture.name).toMatch(/v3-converted|v4-converted|run2/);
    const read = readIndexed(expectedFile(capture, `.v4${suffix}.memprofdata`)!);
    expect(textOf(indexedProfileText(read.profile))).toBe(expected.toString());
    expect(textOf(indexedProfileText(readMemprofYaml(expected)))).toBe(expected.toString());
  });

  it.each([3, 4] as const)("is read and written again without a change in version %d", (version) => {
    const bytes = expectedFile(capture, `.v${version}.memprofdata`) ?? write(profile, version);
    const read = readIndexed(bytes);
    expect(read.memprofVersion).toBe(version);
    expect(Buffer.from(write(read.profile, version, "stored")).equals(bytes)).toBe(true);
  });
});

function write(
  profile: Parameters<typeof writeIndexed>[0],
  version: MemprofVersion,
  order: "inserted" | "stored" = "inserted",
): Uint8Array {
  return joinPieces(writeIndexed(profile, { version, container: 13, schema: HOT_COLD_FIELDS, order }));
}

describe("profiles of LLVM 19", () => {
  it.each([0, 1])("are read in version %d, which newer tools refuse", (version) => {
    const read = readIndexed(readFileSync(`${OWN}llvm19.v${version}.memprofdata`));
    expect(read.memprofVersion).toBe(version);
    expect(read.schema).toHaveLength(27);
    const newer = readIndexed(readFileSync(`${OWN}c-basic.v5.v4.memprofdata`));
    expect(new Set(read.profile.records.guid)).toEqual(new Set(newer.profile.records.guid));
  });
});

describe("profiles in YAML", () => {
  const shared = sharedPath("fixtures/memprof/yaml");
  const folder = shared === undefined ? OWN : `${shared}/`;
  const cases =
    shared === undefined ? ["data-order"] : ["bounds", "callees-and-data", "data-order", "quoting"];

  it.each(cases)("are indexed and printed as LLVM does: %s", (name) => {
    const read = (suffix: string) => readFileSync(`${folder}${name}${suffix}`);
    const profile = readMemprofYaml(read(".in.yaml"));
    const indexed = read(".v4.memprofdata");
    expect(Buffer.from(write(profile, 4)).equals(indexed)).toBe(true);
    expect(textOf(indexedProfileText(readIndexed(indexed).profile))).toBe(read(".show.yaml").toString());
  });
});
