import { existsSync } from "node:fs";
import { basename } from "node:path";
import { describe, expect, it } from "vitest";
import { loadObject } from "../../../src/names/load/objects.ts";
import { loadAddressFrames } from "../../../src/names/memprof/binaries.ts";
import { captures, knownPcs } from "../../profile/formats/memprof/captures.ts";

/** Captures that are conversions of others share their program. */
const PROGRAM_OF: Readonly<Record<string, string>> = {
  "v3-converted": "v4",
  "v4-converted": "v5",
  cold: "v5",
};

describe("frames of PCs in profiled programs are those that LLVM's profile reader finds", () => {
  for (const capture of captures()) {
    const program = capture
      .at(".exe")
      .replace(/([^/]+)\.exe$/, (_, stem: string) => `${PROGRAM_OF[stem] ?? stem}.exe`);
    it.skipIf(!existsSync(program))(capture.name, () => {
      const framesAt = loadAddressFrames(loadObject(program), undefined);
      const { pcs } = knownPcs(capture);
      expect(pcs.length).toBeGreaterThan(0);
      const found = pcs.map(({ address }) =>
        framesAt(Number(address)).map(
          ({ linkageName, file, line, column, startLine }, depth, { length }) => ({
            linkageName,
            // The reference vectors have one file for a whole chain.
            file: depth === 0 ? basename(file ?? "") : undefined,
            place: `${line}:${column}`,
            lineOffset: (line - startLine) >>> 0,
            inline: depth < length - 1,
          }),
        ),
      );
      const expected = pcs.map(({ frames }) =>
        frames.map(({ linkageName, file, line, column, lineOffset, inline }, depth) => ({
          linkageName,
          file: depth === 0 ? basename(file) : undefined,
          place: `${line}:${column}`,
          lineOffset,
          inline,
        })),
      );
      expect(found).toEqual(expected);
    });
  }
});
