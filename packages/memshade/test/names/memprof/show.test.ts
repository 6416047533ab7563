import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { ProfdataError, showProfile } from "../../../src/names/memprof/show.ts";
import { sharedPath } from "../../shared-path.ts";

const shared = sharedPath("fixtures/memprof");
const folder = mkdtempSync(join(tmpdir(), "memshade-show-"));
afterAll(() => rmSync(folder, { recursive: true }));

const CASES = ["c-basic", "cpp-inline", "threads", "histogram", "lines", "hint"];
const BINARY_OF: Readonly<Record<string, string>> = {
  "v3-converted": "v4",
  "v4-converted": "v5",
  cold: "v5",
  "v5-static.run2": "v5-static",
};

interface BadFile {
  readonly name: string;
  readonly base: string;
  readonly binary?: string;
  readonly patches?: readonly { offset: number; hex: string }[];
  readonly truncateTo?: number;
  readonly appendHex?: string;
  readonly appendCopy?: readonly { offset: number; hex: string }[];
  readonly referenceExit: number;
  readonly referenceMessage: string;
}

function textOf(file: string, binaries: readonly string[] = []): string {
  return [...showProfile(file, binaries)].join("");
}

describe.skipIf(shared === undefined)("showing a profile", () => {
  const root = shared ?? "";
  const raws = CASES.flatMap((name) =>
    (shared === undefined ? [] : readdirSync(join(root, name)))
      .filter((file) => file.endsWith(".memprofraw"))
      .map((file) => [name, file.replace(".memprofraw", "")] as const),
  );

  it.each(raws)("prints %s/%s as llvm-profdata does, with the binary's debug information", (name, stem) => {
    const binary = join(root, name, `${BINARY_OF[stem] ?? stem}.exe`);
    const expected = readFileSync(join(root, name, `${stem}.raw.yaml`), "utf8");
    expect(textOf(join(root, name, `${stem}.memprofraw`), [binary])).toBe(expected);
  });

  it("takes the binary that belongs to the profile out of several", () => {
    const file = join(root, "c-basic/v5.memprofraw");
    const binaries = ["hint/v5.exe", "c-basic/v5.exe"].map((path) => join(root, path));
    expect(textOf(file, binaries)).toBe(readFileSync(join(root, "c-basic/v5.raw.yaml"), "utf8"));
  });

  it("names the build ids that a raw profile needs", () => {
    expect(() => textOf(join(root, "c-basic/v5-static.memprofraw"))).toThrow(
      "\nPath to profiled binary is empty, expected binary with one of the following build ids:\n\n" +
        " BuildId: bc71bf75558b1a8318332fa5ba0213710c57791f\n",
    );
  });

  const readCases = (kind: string) =>
    shared === undefined
      ? []
      : (JSON.parse(readFileSync(join(root, `errors/${kind}.json`), "utf8")) as BadFile[]);
  const cases = [...readCases("raw"), ...readCases("indexed")].map((bad) => [bad.name, bad] as const);

  it.each(cases)("refuses or takes what the reference does: %s", (name, bad) => {
    const file = join(folder, `${name}.${bad.base.endsWith("raw") ? "raw" : "indexed"}`);
    writeFileSync(file, damage(readFileSync(join(root, bad.base)), bad));
    // Messages name the binary as the user did.
    const binaries = bad.binary === undefined ? [] : [join(root, bad.binary)];
    if (bad.referenceExit === 0) {
      expect(textOf(file, binaries)).toMatch(/^---\n# MemProfSummary:\n/);
      return;
    }
    const expected = bad.referenceMessage
      .replace("<file>", file)
      .replace(bad.binary ?? "-", binaries[0] ?? "-");
    expect(() => textOf(file, binaries)).toThrow(new ProfdataError(expected));
  });
});

function patch(bytes: Buffer, patches: BadFile["patches"] = []): Buffer {
  const patched = Buffer.from(bytes);
  for (const { offset, hex } of patches) Buffer.from(hex, "hex").copy(patched, offset);
  return patched;
}

function damage(base: Buffer, { patches, truncateTo, appendHex, appendCopy }: BadFile): Buffer {
  const bad = patch(base, patches).subarray(0, truncateTo);
  const copy = appendCopy === undefined ? Buffer.alloc(0) : patch(base, appendCopy);
  return Buffer.concat([bad, Buffer.from(appendHex ?? "", "hex"), copy]);
}
