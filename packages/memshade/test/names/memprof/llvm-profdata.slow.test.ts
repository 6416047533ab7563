import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { joinPieces } from "../../../src/ground/bytes/file-piece.ts";
import { convertProfile } from "../../../src/names/memprof/convert.ts";
import { showProfile } from "../../../src/names/memprof/show.ts";
import { writeIndexed } from "../../../src/profile/formats/memprof-indexed/index.ts";
import { readRaw, writeRaw } from "../../../src/profile/formats/memprof-raw/index.ts";
import { HOT_COLD_FIELDS } from "../../../src/profile/model/memprof/index.ts";
import { mutate, randomNumbers } from "../../profile/formats/mutations.ts";
import { sharedPath } from "../../shared-path.ts";

// Random profiles, compared with the output of llvm-profdata. For other cases: MEMSHADE_SEED=… MEMSHADE_RUNS=1000 vitest run
// test/names/memprof/llvm-profdata.slow.test.ts

const RUNS = Number(process.env.MEMSHADE_RUNS ?? 12);
const SEED = Number(process.env.MEMSHADE_SEED ?? 1);
const LLVM = "llvm-profdata-22";

const root = sharedPath("fixtures/memprof") ?? "";
const canRun = root !== "" && spawnSync(LLVM, ["--version"]).status === 0;
if (!canRun) console.warn(`SKIPPED: nothing is compared with ${LLVM}, or there are no profiles`);
const folder = mkdtempSync(join(tmpdir(), "memshade-profdata-"));
afterAll(() => rmSync(folder, { recursive: true }));

const llvm = (...args: string[]) => spawnSync(LLVM, args, { encoding: "utf8", maxBuffer: 1 << 28 });

function randomRaw(file: string, random: () => number): Uint8Array {
  const { segments, contexts } = readRaw(readFileSync(file));
  const pcs = [...new Set(contexts.flatMap((context) => context.pcs))];
  const below = (end: number) => Math.floor(random() * end);
  // Enough stacks that hash tables grow and buckets hold several.
  const stacks = Array.from({ length: 1 + below(200) }, (_, number) => ({
    stackId: BigInt(random() < 0.8 ? number + 1 : 2 ** 32 * below(2 ** 20) + number),
    pcs: Array.from({ length: 1 + below(12) }, () => pcs[below(pcs.length)]!),
  }));
  const dumps = Array.from({ length: 1 + below(3) }, () => {
    const chosen = stacks.filter(() => random() < 0.8);
    const dumped = (chosen.length === 0 ? stacks : chosen).map((stack) => ({
      ...stack,
      mib: contexts[below(contexts.length)]!.mib,
    }));
    return writeRaw({ version: 4, segments, contexts: dumped }, 4);
  });
  return new Uint8Array(Buffer.concat(dumps));
}

describe.skipIf(!canRun)("raw profiles of random contexts", () => {
  it.each([
    ["threads", "v5"],
    ["cpp-inline", "v4"],
  ])("of %s are converted byte for byte as llvm-profdata does", async (name, stem) => {
    const [profile, binary] = [join(root, name, `${stem}.memprofraw`), join(root, name, `${stem}.exe`)];
    const [input, output] = [join(folder, `${name}.memprofraw`), join(folder, `${name}.memprofdata`)];
    for (let seed = SEED; seed < SEED + RUNS; seed++) {
      writeFileSync(input, randomRaw(profile, randomNumbers(seed)));
      const places = { binaries: [binary], searchPaths: [] };
      const converted = await convertProfile({ path: input, modules: [] }, places, HOT_COLD_FIELDS).catch(
        (error) => {
          // A profile without any name is refused on purpose because it is useless; the reference tool writes it.
          expect((error as Error).message).toContain("no frame of it could be named");
        },
      );
      if (converted === undefined) continue;
      const { profile: read, order, stackOrder } = converted;
      const version = ([2, 3, 4] as const)[seed % 3]!;
      const options = { version, container: 13, schema: HOT_COLD_FIELDS, order, stackOrder } as const;
      const written = Buffer.from(joinPieces(writeIndexed(read, options)));
      const flags = [`--memprof-version=${version}`, "--profiled-binary", binary];
      expect(llvm("merge", input, ...flags, "-o", output)).toMatchObject({ status: 0, stderr: "" });
      expect(written.equals(readFileSync(output)), `version ${version}, seed ${seed}`).toBe(true);
    }
  });
});

function randomYaml(random: () => number): string {
  const below = (end: number) => Math.floor(random() * end);
  const frame = () =>
    `{ Function: f${below(4)}, LineOffset: ${below(3)}, Column: ${below(2)}, IsInlineFrame: ${random() < 0.3} }`;
  const frames = (margin: string) =>
    Array.from({ length: 1 + below(4) }, () => `${margin}- ${frame()}\n`).join("");
  const block = (margin: string) =>
    ["AllocCount", "TotalSize", "TotalLifetime", "TotalLifetimeAccessDensity"]
      .map((field) => `${margin}${field}: ${1 + below(1000)}\n`)
      .join("");
  const sites = (count: number, site: () => string) =>
    count === 0 ? " []\n" : `\n${Array.from({ length: count }, site).join("")}`;
  const records = Array.from({ length: 1 + below(6) }, () => {
    const allocs = sites(
      below(3),
      () => `      - Callstack:\n${frames("          ")}        MemInfoBlock:\n${block("          ")}`,
    );
    const calls = sites(below(3), () => `      - Frames:\n${frames("          ")}`);
    return `  - GUID: f${below(4)}\n    AllocSites:${allocs}    CallSites:${calls}`;
  });
  return `---\nHeapProfileRecords:\n${records.join("")}...\n`;
}

describe.skipIf(!canRun)("YAML", () => {
  it("whose functions have several records is converted byte for byte as llvm-profdata does", async () => {
    const [input, output] = [join(folder, "records.yaml"), join(folder, "records.memprofdata")];
    for (let seed = SEED; seed < SEED + 3 * RUNS; seed++) {
      writeFileSync(input, randomYaml(randomNumbers(seed)));
      const places = { binaries: [], searchPaths: [] };
      const converted = await convertProfile({ path: input, modules: [] }, places, HOT_COLD_FIELDS);
      const { profile: read, order, stackOrder } = converted!;
      const version = ([2, 3, 4] as const)[seed % 3]!;
      const options = { version, container: 13, schema: HOT_COLD_FIELDS, order, stackOrder } as const;
      const written = Buffer.from(joinPieces(writeIndexed(read, options)));
      expect(llvm("merge", input, `--memprof-version=${version}`, "-o", output)).toMatchObject({ status: 0 });
      expect(written.equals(readFileSync(output)), `version ${version}, seed ${seed}`).toBe(true);
    }
  });
});

describe.skipIf(!canRun)("damaged raw profiles", () => {
  it.each([
    ["c-basic/v5.memprofraw", "c-basic/v5.exe"],
    ["threads/v5.memprofraw", "threads/v5.exe"],
  ])("%s: are shown as by llvm-profdata, or refused", (profile, binary) => {
    const good = readFileSync(join(root, profile));
    const file = join(folder, "damaged");
    const known = (text: string) => text.replace(/AccessHistogram: \d+/g, "AccessHistogram: 0");
    for (let seed = SEED; seed < SEED + RUNS; seed++) {
      writeFileSync(file, mutate(good, randomNumbers(seed)));
      const reference = llvm("show", "--memory", file, "--profiled-binary", join(root, binary));
      // The tool reads beyond the end of damaged files; it crashes or returns random memory.
      let text: string | undefined;
      try {
        text = [...showProfile(file, [join(root, binary)])].join("");
      } catch (error) {
        expect((error as Error).name, `seed ${seed}`).toBe("ProfdataError");
      }
      if (text === undefined || reference.status !== 0) continue;
      expect(known(text), `seed ${seed}`).toBe(known(reference.stdout));
    }
  });
});

describe.skipIf(!canRun)("damaged indexed profiles", () => {
  it.each(["c-basic/v5.v2", "cpp-inline/v5.v3", "threads/v5.v4"])(
    "%s: are shown as by llvm-profdata, or refused",
    (profile) => {
      const good = readFileSync(join(root, `${profile}.memprofdata`));
      const file = join(folder, "damaged.memprofdata");
      for (let seed = SEED; seed < SEED + RUNS; seed++) {
        writeFileSync(file, mutate(good, randomNumbers(seed)));
        const reference = llvm("show", "--memory", file);
        let text: string | undefined;
        try {
          text = [...showProfile(file, [])].join("");
        } catch (error) {
          expect((error as Error).name, `seed ${seed}`).toBe("ProfdataError");
        }
        if (text !== undefined && reference.status === 0) expect(text, `seed ${seed}`).toBe(reference.stdout);
      }
    },
  );
});
