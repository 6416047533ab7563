import { AssertionError } from "node:assert";
import fs from "node:fs";
import path from "node:path";
import { WASI } from "node:wasi";
import { describe, expect, it } from "vitest";
import { profile, UserError } from "../../src/index.ts";
import { expectMemory, expectNoLeak } from "../../src/testing/index.ts";
import { newFolder } from "../cli/support/command-line.ts";
import { assemble, LIBRARY } from "../cli/support/programs.ts";
import { heapPicture, writePicture } from "../heap-picture.ts";

const BYTES = assemble(LIBRARY);
const IMPORTS = { host: { notify() {} } };
type Fill = (count: number) => number;
const folder = newFolder();
const runOf = (name: string, picture: string) => writePicture(path.join(folder, name), heapPicture(picture));

async function failure(promise: Promise<unknown>): Promise<AssertionError> {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(AssertionError);
  return error as AssertionError;
}

describe("expectMemory", () => {
  it("holds a run to its limits", async () => {
    const run = runOf("run", "main > parse  10 x 100  peak 4  live 1");
    await expectMemory(run).toStayBelow({ peak: 400, left: "0.1 k", "left[function=main]": 0 });
    const error = await failure(expectMemory(run).toStayBelow({ peak: "399 B", left: 0 }));
    expect(error.message).toMatch(/^2 of 2 limits failed for .*run:\n/);
    expect(error.message).toMatch(/peak is 400 B, more than 399 B; most at parse/);
    expect(error.message).toMatch(/left is 100 B, more than 0 B; most at parse/);
    expect(error).toMatchObject({ code: "ERR_ASSERTION", actual: { "peak<=399 B": 400, "left<=0": 100 } });
  });

  it("does not take for kept what the run cannot decide", async () => {
    const { run, raw } = heapPicture("main > parse  10 x 100  peak 4  live 1");
    run.bounds = [{ figures: ["peak"], are: "least", because: "3 calls of the allocator were not recorded" }];
    const full = writePicture(path.join(folder, "full"), { run, raw });
    await expectMemory(full).toStayBelow({ left: 100 });
    const error = await failure(expectMemory(full).toStayBelow({ peak: "1 MiB", left: 100 }));
    expect(error.message).toMatch(/^1 of 2 limits is undecided for .*full:\n/);
    expect(error.message).toMatch(/peak is at least 400 B, .*; undecided because 3 calls of the allocator/);
  });

  it("names places in words that no terminal obeys", async () => {
    const run = runOf("hostile", "main > par\u001b[8mse\u202e  10 x 100  peak 4");
    const { message } = await failure(expectMemory(run).toStayBelow({ peak: 1 }));
    expect(message).toMatch(/most at par.*se/);
    expect(message).not.toMatch(/(?!\n)[\p{Cc}\p{Bidi_Control}]/u);
  });

  it("compares with a baseline", async () => {
    const old = runOf("old", "main > parse  10 x 100  peak 4");
    const now = runOf("new", "main > parse  10 x 100  peak 5");
    await expectMemory(now, { baseline: old }).toStayBelow({ peak: "+25%" });
    const error = await failure(expectMemory(now, { baseline: old }).toStayBelow({ peak: "+24%" }));
    expect(error.message).toMatch(/peak is 500 B, more than 496 B, where the baseline has 400 B/);
  });

  it("takes the limits of a budget file", async () => {
    const run = runOf("budgeted", "main > parse  10 x 100  peak 4  live 1\nmain > table  1 x 50  live 1");
    const budget = path.join(folder, "memory.yaml");
    fs.writeFileSync(budget, "limits:\n - left<=100\nsuppressions:\n - leak: table\n   reason: for good\n");
    await expectMemory(run).toMeetBudget(budget);
    fs.writeFileSync(budget, "limits:\n - limit: left<=100\n   reason: one tile\n");
    const error = await failure(expectMemory(run).toMeetBudget(budget));
    expect(error.message).toMatch(/left is 150 B, more than 100 B; .*; the reason of the limit: one tile/);
  });

  it("takes what profile() gave, and leaves no folder behind", async () => {
    const recorded = await profile(BYTES, async (instantiate) =>
      ((await instantiate(IMPORTS)).exports.fill as Fill)(3),
    );
    const temporary = () =>
      fs.readdirSync(path.dirname(folder)).filter((name) => name.startsWith("memshade-"));
    const before = temporary();
    await expectMemory(recorded).toStayBelow({ left: 72, blocks: 3 });
    const error = await failure(expectMemory(recorded).toStayBelow({ left: 71 }));
    expect(error.message).toMatch(/left is 72 B, more than 71 B; most at fill/);
    expect(temporary().filter((name) => !before.includes(name))).toEqual([]);
  });

  it("knows the source lines of what profile() gave, so that limits of files are about something", async () => {
    const shop = fs.readFileSync(new URL("../../demo/shop.wasm", import.meta.url));
    const wasi = new WASI({ version: "preview1", stdout: fs.openSync("/dev/null", "w"), returnOnExit: true });
    const recorded = await profile(shop, async (instantiate) => {
      wasi.start(await instantiate(wasi.getImportObject() as WebAssembly.Imports));
    });
    await expectMemory(recorded).toStayBelow({ "left[file=till.c]": 0 });
    const error = await failure(expectMemory(recorded).toStayBelow({ "left[file=shop.c]": 0 }));
    expect(error.message).toMatch(/left\[file=shop\.c\] is .*36,000 B.*; most at take_order \(shop\.c:42\)/);
  });

  it("names a profile by its program where it has not what a limit takes", async () => {
    const recorded = await profile(BYTES, async (instantiate) =>
      ((await instantiate(IMPORTS)).exports.fill as Fill)(3),
    );
    const compared = expectMemory(recorded, { baseline: recorded }).toStayBelow({ dead: "5%" });
    await expect(compared).rejects.toThrow(/^"dead<=5%": the profile of \S+ does not have dead: /);
  });

  it("tells a mistake from a failure", async () => {
    const run = runOf("mistaken", "main > parse  1 x 1");
    const mistake = expect.any(UserError);
    await expect(expectMemory(run).toStayBelow({ peek: 5 })).rejects.toEqual(mistake);
    await expect(expectMemory(run).toStayBelow({ dead: "5%" })).rejects.toEqual(mistake);
    await expect(expectMemory(run).toStayBelow({})).rejects.toEqual(mistake);
    await expect(
      expectMemory(run, { suppressions: "a.supp" as never }).toStayBelow({ peak: 5 }),
    ).rejects.toEqual(mistake);
    for (const limits of [undefined, "peak<5", { peak: -5 }, { peak: Number.NaN }, { peak: undefined }])
      await expect(expectMemory(run).toStayBelow(limits as never)).rejects.toEqual(mistake);
    for (const none of [undefined, null, {}, 5])
      await expect(expectMemory(none as never).toStayBelow({ peak: 5 })).rejects.toEqual(mistake);
    await expect(expectMemory(path.join(folder, "nowhere")).toStayBelow({ peak: 5 })).rejects.toEqual(
      mistake,
    );
  });
});

describe("expectNoLeak", () => {
  const withFill = (use: (fill: Fill) => Promise<void>) =>
    profile(BYTES, async (instantiate) => use((await instantiate(IMPORTS)).exports.fill as Fill));

  it("passes where nothing more is left behind the rounds than before", async () => {
    let rounds = 0;
    await withFill((fill) =>
      expectNoLeak(() => {
        // Blocks that are allocated only once are warm-up.
        if (rounds++ < 2) fill(5);
      }),
    );
    expect(rounds).toBe(13);
  });

  it("names what is left, and the line", async () => {
    await withFill(async (fill) => {
      const error = await failure(expectNoLeak(async () => fill(2), { warmUp: 1, rounds: 4 }));
      expect(error.message).toMatch(/^more is live after 4 rounds than before them \(1 to warm up\):\n/);
      expect(error.message).toMatch(
        /left is 240 B, more than 48 B, .*: \+192 B .*; most new at fill.*: 240 B, 48 B before/,
      );
      await expectNoLeak(async () => fill(2), { warmUp: 0, rounds: 1, allow: 48 });
      await failure(expectNoLeak(async () => fill(2), { warmUp: 0, rounds: 1, allow: 47 }));
    });
  });

  it("asks for a recording of the heap", async () => {
    await expect(expectNoLeak(() => {})).rejects.toThrow(/nothing is recorded here/);
    await expect(expectNoLeak(() => {}, { rounds: 0 })).rejects.toThrow(
      /rounds should be a whole number from 1/,
    );
    const ofWaste = profile(
      BYTES,
      async (instantiate) => {
        await instantiate(IMPORTS);
        await expect(expectNoLeak(() => {})).rejects.toThrow(/the heap is not recorded here/);
      },
      { tools: ["waste"] },
    );
    await ofWaste;
  });
});
