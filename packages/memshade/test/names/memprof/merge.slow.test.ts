import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { joinPieces } from "../../../src/ground/bytes/file-piece.ts";
import { expandInputs } from "../../../src/names/memprof/inputs.ts";
import { type MergeOptions, mergeInputs } from "../../../src/names/memprof/merge-profiles.ts";
import { readIndexed, writeIndexed } from "../../../src/profile/formats/memprof-indexed/index.ts";
import { readRaw, writeRaw } from "../../../src/profile/formats/memprof-raw/index.ts";
import { indexedProfileText } from "../../../src/profile/formats/memprof-text/index.ts";
import { MemshadeProfile } from "../../../src/profile/formats/memshade-profile/index.ts";
import { HOT_COLD_FIELDS, type MemprofProfile } from "../../../src/profile/model/memprof/index.ts";
import { MIB_FIELDS } from "../../../src/profile/model/mib-fields.ts";
import { memshade } from "../../cli/support/command-line.ts";
import { sharedPath } from "../../shared-path.ts";
import { writeMemshadeProfile } from "../../support/whole.ts";

const shared = sharedPath("fixtures/memprof");
const root = shared ?? "";
const folder = mkdtempSync(join(tmpdir(), "memshade-merge-"));
afterAll(() => rmSync(folder, { recursive: true }));

const CASES = ["c-basic/v5-static", "cpp-inline/v5", "threads/v5", "histogram/v5", "hint/v5", "lines/v5"];
const raws = CASES.map((name) => join(root, `${name}.memprofraw`));
const run2 = join(root, "c-basic/v5-static.run2.memprofraw");
const places = { binaries: CASES.map((name) => join(root, `${name}.exe`)), searchPaths: [] };
const compact: MergeOptions = { places, fields: HOT_COLD_FIELDS, keepsSources: false, threads: 1 };
const everything: MergeOptions = { places, fields: MIB_FIELDS, keepsSources: true, threads: 1 };

function save(name: string, bytes: Uint8Array | string): string {
  const path = join(folder, name);
  writeFileSync(path, bytes);
  return path;
}

async function merge(inputs: readonly string[], options = compact): Promise<MemprofProfile> {
  return (await mergeInputs(expandInputs(inputs), options)).take().profile;
}

function indexed(profile: MemprofProfile, schema = HOT_COLD_FIELDS): Buffer {
  return Buffer.from(
    joinPieces(writeIndexed(profile, { version: 4, container: 13, schema, order: "stored" })),
  );
}

function isInstalled(tool: string): boolean {
  const found = spawnSync(tool, ["--version"]).status === 0;
  if (!found) console.warn(`SKIPPED: ${tool} is not installed, merged profiles are not checked against it`);
  return found;
}

describe.skipIf(shared === undefined)("merging profiles", () => {
  it("adds two runs of one program context by context", async () => {
    const one = await merge([raws[0]!]);
    const both = await merge([raws[0]!, run2]);
    const sizes = ({ blocks }: MemprofProfile) => [...blocks.columns[1]!].map(Number);
    expect(both.records.guid).toEqual(one.records.guid);
    expect(sizes(both)).toEqual(sizes(one).map((size) => 2 * size));
  });

  it("puts contexts of one process together that only differ in their addresses", async () => {
    const merged = await merge([raws[1]!]);
    const apart = readIndexed(readFileSync(join(root, "cpp-inline/v5.v4.memprofdata"))).profile;
    const total = ({ records, blocks }: MemprofProfile) => {
      const rows = [...new Set(records.allocBlock)];
      return new Set(rows.map((row) => records.allocStack[records.allocBlock.indexOf(row)])).size && blocks;
    };
    expect(total(merged)).toBeDefined();
    expect(new Set(merged.records.allocStack).size).toBe(new Set(apart.records.allocStack).size);
    expect(merged.blocks.length).toBe(new Set(merged.records.allocStack).size);
    expect(merged.blocks.length).toBeLessThan(apart.records.allocStack.length);
  });

  it.each([compact, everything])("gives the same whatever the order of the inputs is", async (options) => {
    const schema = options.fields;
    const forwards = indexed(await merge(raws, options), schema);
    expect(indexed(await merge([...raws].reverse(), options), schema).equals(forwards)).toBe(true);
  });

  it("gives the same if parts are merged first, in every format that keeps them", async () => {
    const whole = indexed(await merge(raws));
    const left = save("left.memprofdata", indexed(await merge(raws.slice(0, 3))));
    const right = await merge(raws.slice(3), everything);
    const rightFile = save("right.memshade", writeMemshadeProfile(right));
    expect(indexed(await merge([left, rightFile])).equals(whole)).toBe(true);
    const yaml = save("left.yaml", [...indexedProfileText(readIndexed(readFileSync(left)).profile)].join(""));
    expect(indexed(await merge([rightFile, yaml])).equals(whole)).toBe(true);
    expect(indexed(await merge([save("whole.memprofdata", whole)])).equals(whole)).toBe(true);
  });

  it("gives the same on several threads", async () => {
    const many = Array.from({ length: 40 }, (_, index) => raws[index % raws.length]!);
    const threaded = await merge(many, { ...compact, threads: 3 });
    expect(indexed(threaded).equals(indexed(await merge(many)))).toBe(true);
  });

  it("stops at a bad input and names it, or skips it and names it", async () => {
    const bad = save("bad.memprofraw", readFileSync(raws[0]!).subarray(0, 100));
    await expect(merge([raws[0]!, bad, raws[2]!])).rejects.toThrow(/bad\.memprofraw is damaged/);
    const skipped: string[] = [];
    const options = { ...compact, skip: (message: string) => skipped.push(message) };
    const merged = await merge([raws[0]!, bad, raws[2]!], options);
    expect(skipped).toEqual([expect.stringContaining("bad.memprofraw is damaged")]);
    expect(indexed(merged).equals(indexed(await merge([raws[0]!, raws[2]!])))).toBe(true);
  });

  it("makes an empty profile of one without allocations, alone or with others", async () => {
    const { segments } = readRaw(readFileSync(raws[0]!));
    const empty = save("empty.memprofraw", writeRaw({ version: 5, segments, contexts: [] }, 5));
    const out = join(folder, "of-nothing.memprofdata");
    for (const inputs of [[empty], [empty, empty]]) {
      const { code, stderr } = await memshade(["merge", "-o", out, ...inputs], { cwd: folder });
      expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining("0 contexts") });
      expect(readIndexed(readFileSync(out)).profile.records.length).toBe(0);
    }
    expect(indexed(await merge([empty, raws[0]!])).equals(indexed(await merge([raws[0]!])))).toBe(true);
  });

  it("finds binaries by build id below folders, and says which are missing", async () => {
    const searching = { ...compact, places: { binaries: [], searchPaths: [join(root, "c-basic")] } };
    const found = (await mergeInputs(expandInputs([raws[0]!, run2]), searching)).take();
    expect(indexed(found.profile).equals(indexed(await merge([raws[0]!, run2])))).toBe(true);
    expect(found.origin.binaries.map(({ name }) => name)).toEqual([join(root, "c-basic/v5-static.exe")]);
    expect(found.origin.unmatched).toHaveLength(6);
    await expect(merge([raws[2]!], searching)).rejects.toThrow(/there is no binary for it/);
  });

  it("takes folders and response files", () => {
    const below = join(folder, "below");
    mkdirSync(join(below, "deeper"), { recursive: true });
    writeFileSync(join(below, "a.memprofraw"), readFileSync(raws[0]!));
    writeFileSync(join(below, "deeper/b.memprofraw"), readFileSync(run2));
    writeFileSync(join(below, "notes.txt"), "nothing");
    const list = save("list.txt", `# two\n${raws[1]}\n\n${below}\n`);
    expect(expandInputs([`@${list}`]).map(({ path }) => path)).toEqual([
      raws[1],
      join(below, "a.memprofraw"),
      join(below, "deeper/b.memprofraw"),
    ]);
  });

  it("takes links to files of a folder, and says which response file names itself", () => {
    const links = join(folder, "links");
    mkdirSync(links);
    symlinkSync(raws[0]!, join(links, "link"));
    symlinkSync(links, join(links, "loop"));
    symlinkSync("nowhere", join(links, "broken"));
    expect(expandInputs([links]).map(({ path }) => path)).toEqual([join(links, "link")]);
    const list = join(folder, "loop.txt");
    writeFileSync(list, `@${list}\n`);
    expect(() => expandInputs([`@${list}`])).toThrow(/names itself/);
  });

  it("leaves out what is not there, if bad inputs are to be skipped, and names it", () => {
    const run = join(folder, "damaged-run");
    mkdirSync(run);
    writeFileSync(join(run, "run.json"), "{");
    const skipped: string[] = [];
    const found = expandInputs([join(folder, "missing"), raws[0]!, run], (message) => skipped.push(message));
    expect(found.map(({ path }) => path)).toEqual([raws[0]]);
    expect(skipped).toEqual([
      expect.stringContaining("missing: there is no such file"),
      expect.stringContaining(join(run, "run.json")),
    ]);
    expect(() => expandInputs([join(folder, "missing")])).toThrow(/there is no such file/);
  });

  describe.skipIf(!isInstalled("llvm-profdata-22"))("for llvm-profdata 22", () => {
    it.each([2, 3, 4] as const)("is readable in version %d, in every container", async (version) => {
      const profile = await merge(raws);
      const text = [...indexedProfileText(profile)].join("");
      for (const container of [8, 9, 10, 11, 12, 13] as const) {
        const options = { version, container, schema: HOT_COLD_FIELDS, order: "stored" } as const;
        const file = save("read.memprofdata", joinPieces(writeIndexed(profile, options)));
        const shown = spawnSync("llvm-profdata-22", ["show", "--memory", file], { encoding: "utf8" });
        expect(shown.stderr).toBe("");
        expect(sortRecords(shown.stdout)).toBe(sortRecords(text));
      }
    });

    it("reads the YAML that is written", async () => {
      const file = save("written.yaml", [...indexedProfileText(await merge(raws))].join(""));
      const out = join(folder, "from-yaml.memprofdata");
      expect(spawnSync("llvm-profdata-22", ["merge", file, "-o", out]).status).toBe(0);
      const shown = spawnSync("llvm-profdata-22", ["show", "--memory", out], { encoding: "utf8" }).stdout;
      expect(sortRecords(shown)).toBe(sortRecords(readFileSync(file, "utf8")));
    });
  });

  it("writes what it merged with one line about it, and nothing when it fails", async () => {
    const out = join(folder, "cli.memprofdata");
    const args = ["merge", "-o", out, "--binary", places.binaries[0]!];
    const good = await memshade([...args, raws[0]!], { cwd: folder });
    expect(good.code).toBe(0);
    expect(good.stderr).toMatch(/cli\.memprofdata written: 1 profile, 5 contexts, 4 functions\n/);
    expect(readFileSync(out).equals(readFileSync(join(root, "c-basic/v5-static.v3.memprofdata")))).toBe(true);
    const none = join(folder, "none");
    const failed = await memshade(["merge", "-o", none, raws[0]!, raws[1]!], { cwd: folder });
    expect(failed.code).toBe(2);
    expect(failed.stderr).toMatch(/^memshade: .*there is no binary for it.*\n$/);
    expect(existsSync(none)).toBe(false);
    expect(readdirSync(folder).filter((name) => name.includes("partial"))).toEqual([]);
  });
});

/** Sorts records by GUID: the order of the table differs from that of the profile. */
function sortRecords(text: string): string {
  const [head, ...records] = text.replace(/\.\.\.\n$/, "").split("  - GUID:");
  return [head, ...records.sort()].join("  - GUID:");
}

describe.skipIf(shared === undefined)("the memshade format", () => {
  it("is not for pipes, which is said before anything is merged", async () => {
    const inputs = ["--binary", places.binaries[0]!, raws[0]!];
    const { code, stderr, stdout } = await memshade(
      ["merge", "--format", "memshade", "-o", "/dev/stdout", ...inputs],
      { cwd: folder },
    );
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toBe(
      "memshade: /dev/stdout is a pipe: a memshade profile can only be written to a file\n",
    );
  });

  it("keeps all that a merged profile knows", async () => {
    const { profile, origin } = (await mergeInputs(expandInputs(raws), everything)).take();
    const file = new MemshadeProfile(writeMemshadeProfile(profile, origin));
    const read = file.whole();
    expect(file.origin).toEqual(origin);
    expect(indexed(read, MIB_FIELDS).equals(indexed(profile, MIB_FIELDS))).toBe(true);
    expect(read.blocks.histograms).toEqual(profile.blocks.histograms);
    const sourcesOf = ({ frames: { source, length } }: MemprofProfile) =>
      Array.from({ length }, (_, frame) => [
        source!.strings[source!.name[frame]!],
        source!.strings[source!.file[frame]!],
        source!.line[frame],
        source!.discriminator[frame],
      ]);
    expect(sourcesOf(read)).toEqual(sourcesOf(profile));
    expect(sourcesOf(read).flat()).toContain("_ZN6shapes9make_nodeEl");
  });

  it("is smaller than the raw profiles that it was made of", async () => {
    const { profile, origin } = (
      await mergeInputs(expandInputs(raws), {
        ...everything,
        keepsUnresolved: true,
      })
    ).take();
    const rawBytes = raws.reduce((sum, raw) => sum + statSync(raw).size, 0);
    expect(writeMemshadeProfile(profile, origin).length).toBeLessThan(rawBytes / 2);
  });

  it("is refused in a version that another build wrote", async () => {
    const file = writeMemshadeProfile(await merge(raws));
    file[8] = 2;
    expect(() => new MemshadeProfile(file)).toThrow("version 2 is not supported (supported: 1)");
  });
});
