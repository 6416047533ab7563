import { cpSync, mkdtempSync, readFileSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { memshade } from "../cli/support/command-line.ts";
import { sharedPath } from "../shared-path.ts";

const profiles = sharedPath("fixtures/memprof");

const GROUPS: Readonly<
  Record<string, { readonly inputs: readonly string[]; readonly binaries: readonly string[] }>
> = {
  "raw profiles of three programs": {
    inputs: [
      "c-basic/v5-static.memprofraw",
      "c-basic/v5-static.run2.memprofraw",
      "cpp-inline/v5.memprofraw",
      "threads/v5.memprofraw",
    ],
    binaries: ["c-basic/v5-static.exe", "cpp-inline/v5.exe", "threads/v5.exe"],
  },
  "indexed profiles with all fields": {
    inputs: [
      "c-basic/v5.v4.full.memprofdata",
      "cpp-inline/v4.v4.full.memprofdata",
      "threads/v4.v4.full.memprofdata",
    ],
    binaries: [],
  },
  "profiles that know different fields": {
    inputs: ["c-basic/v5.v3.memprofdata", "cpp-inline/v4.v4.full.memprofdata", "hint/v5.v2.memprofdata"],
    binaries: [],
  },
  "profiles with accesses to static data": {
    inputs: ["yaml/data-order.in.yaml", "yaml/callees-and-data.in.yaml", "c-basic/v5.v3.memprofdata"],
    binaries: [],
  },
  "a profile that lists accesses to static data in an order of its own": {
    inputs: ["yaml/callees-and-data.v4.memprofdata"],
    binaries: [],
  },
  "YAML with call sites of its own": {
    inputs: ["yaml/bounds.in.yaml", "yaml/callees-and-data.in.yaml", "yaml/quoting.in.yaml"],
    binaries: [],
  },
};

interface Files {
  readonly cwd: string;
  readonly inputs: readonly string[];
  readonly binaries: readonly string[];
}

/** Copies of the inputs, with times in the order in which they are named. */
function copied({ inputs, binaries }: { inputs: readonly string[]; binaries: readonly string[] }): Files {
  const cwd = mkdtempSync(join(tmpdir(), "store-"));
  const copies = inputs.map((input, index) => {
    const name = `${index}-${input.replaceAll("/", "-")}`;
    cpSync(join(profiles!, input), join(cwd, name));
    utimesSync(join(cwd, name), 1_000_000 + index, 1_000_000 + index);
    return name;
  });
  return { cwd, inputs: copies, binaries: binaries.flatMap((file) => ["--binary", join(profiles!, file)]) };
}

async function succeed(args: readonly string[], cwd: string): Promise<string> {
  const { code, stderr, stdout } = await memshade(args, { cwd });
  expect({ code, stderr }).toMatchObject({ code: 0 });
  return stdout;
}

async function mergedFiles({ cwd, inputs, binaries }: Files, options: readonly string[]): Promise<Buffer> {
  await succeed(["merge", "--combine", "-o", "files.data", ...options, ...inputs, ...binaries], cwd);
  return readFileSync(join(cwd, "files.data"));
}

async function mergedStore({ cwd }: Files, options: readonly string[]): Promise<Buffer> {
  await succeed(["store", "merge", "fleet", "-o", "store.data", ...options], cwd);
  return readFileSync(join(cwd, "store.data"));
}

describe.skipIf(profiles === undefined)("one profile of a store", () => {
  it.each(Object.keys(GROUPS))("is byte for byte what merging the files makes: %s", async (name) => {
    const files = copied(GROUPS[name]!);
    const { cwd, inputs, binaries } = files;
    await succeed(["store", "add", "--to", "fleet", "--build", "b1", ...inputs, ...binaries], cwd);
    for (const options of [[], ["--memprof-version", "2"], ["--memprof-version", "4"], ["--full-schema"]])
      expect(await mergedStore(files, options)).toEqual(await mergedFiles(files, options));
  });

  it("does not depend on how the runs came in, nor on joined files", async () => {
    const files = copied(GROUPS["raw profiles of three programs"]!);
    const { cwd, inputs, binaries } = files;
    for (const input of inputs.toReversed())
      await succeed(["store", "add", "--to", "fleet", "--build", "b1", input, ...binaries], cwd);
    await succeed(["store", "add", "--to", "fleet", "--build", "b1", ...inputs, ...binaries], cwd);
    const expected = await mergedFiles(files, []);
    expect(await mergedStore(files, [])).toEqual(expected);
    await succeed(["store", "compact", "fleet"], cwd);
    expect(await mergedStore(files, [])).toEqual(expected);
  });

  it("is the same when only sums by build are left, with all fields", async () => {
    const files = copied(GROUPS["raw profiles of three programs"]!);
    const { cwd, inputs, binaries } = files;
    await succeed(
      ["store", "add", "--to", "fleet", "--build", "b1", ...inputs.slice(0, 2), ...binaries],
      cwd,
    );
    await succeed(["store", "add", "--to", "fleet", "--build", "b2", ...inputs.slice(2), ...binaries], cwd);
    await succeed(["store", "compact", "fleet", "--older-than", "30d", "--keep", "rollup"], cwd);
    expect(
      await succeed(["store", "query", "fleet", "select count(*) as n from metrics", "--csv"], cwd),
    ).toBe("n\n0\n");
    expect(await mergedStore(files, ["--full-schema"])).toEqual(await mergedFiles(files, ["--full-schema"]));
    const part = { ...files, inputs: inputs.slice(0, 2) };
    expect(await mergedStore(files, ["--where", "build = 'b1'"])).toEqual(await mergedFiles(part, []));
  });

  it("refuses a part of what is summed up", async () => {
    const files = copied(GROUPS["raw profiles of three programs"]!);
    const { cwd, inputs, binaries } = files;
    await succeed(
      ["store", "add", "--to", "fleet", "--build", "b1", "--host", "a", inputs[0]!, ...binaries],
      cwd,
    );
    await succeed(
      ["store", "add", "--to", "fleet", "--build", "b1", "--host", "b", inputs[1]!, ...binaries],
      cwd,
    );
    await succeed(["store", "compact", "fleet", "--older-than", "30d", "--keep", "rollup"], cwd);
    const { code, stderr } = await memshade(["store", "merge", "fleet", "-o", "x", "--where", "host = 'a'"], {
      cwd,
    });
    expect(code).toBe(2);
    expect(stderr).toMatch(/^memshade: only sums of all runs are kept of build b1: [^\n]+\n$/);
  });
});
