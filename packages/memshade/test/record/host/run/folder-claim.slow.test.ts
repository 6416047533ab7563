import { spawn, spawnSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { UserError } from "../../../../src/ground/bytes/errors.ts";
import {
  assertFolderWritable,
  FolderClaim,
  writeRunFolder,
} from "../../../../src/record/host/run/folder-claim.ts";
import { isRunning, ownIdentity } from "../../../../src/record/host/run/process-identity.ts";
import { settleRun } from "../../../../src/runs/run-of-folder.ts";

let home: string;
let run: string;
beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), "memshade-folder-")));
  run = join(home, "run");
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

/** Files of a run that recorded `heap`, and optional files that other runs lack. */
function filesOf(heap: number, ...more: string[]) {
  const files = {
    heap: "heap.memprofraw",
    ...Object.fromEntries(more.map((name) => [name, `${name}.json`])),
  };
  return [
    { name: "heap.memprofraw", contents: Uint8Array.of(heap) },
    ...more.map((name) => ({ name: `${name}.json`, contents: "{}" })),
    { name: "run.json", contents: JSON.stringify({ schema: "memshade-run", files }) },
  ];
}

const heapIn = (folder: string) => [...readFileSync(join(folder, "heap.memprofraw"))];

/** A file that cannot be written: its path leads into a missing folder. */
const impossible = { name: "missing/file", contents: "" };

function deadProcess(): string {
  const { pid } = spawnSync(process.execPath, ["-e", ""]);
  return JSON.stringify({ pid, host: hostname(), started: "long ago" });
}

/** Creates the claim of a process that was killed while writing, with some of the files in it. */
function leaveClaim(owner: string, ...inside: string[]): string {
  const claim = join(home, ".run.partial");
  mkdirSync(claim);
  for (const name of inside) {
    writeRunFolder(join(home, "made"), filesOf(name === "new" ? 2 : 1));
    renameSync(join(home, "made"), join(claim, name));
  }
  writeFileSync(join(claim, "owner"), owner);
  return claim;
}

describe("the files of a run", () => {
  it("appear in a new folder, with the folders above it, for nobody else to see", () => {
    const folder = join(home, "a", "b");
    writeRunFolder(folder, filesOf(1));
    expect(readdirSync(join(home, "a"))).toEqual(["b"]);
    expect(readdirSync(folder).sort()).toEqual(["heap.memprofraw", "run.json"]);
    expect(heapIn(folder)).toEqual([1]);
    for (const made of [folder, join(home, "a")]) expect(statSync(made).mode & 0o777).toBe(0o700);
  });

  it("take the place of an earlier run as a whole", () => {
    writeRunFolder(run, filesOf(1, "waste"));
    writeRunFolder(run, filesOf(2));
    expect(readdirSync(home)).toEqual(["run"]);
    expect(readdirSync(run).sort()).toEqual(["heap.memprofraw", "run.json"]);
    expect(heapIn(run)).toEqual([2]);
  });

  it("take the place of one that measured what it took, or did not", () => {
    for (const more of [["measured"], [], ["measured"]]) {
      writeRunFolder(run, filesOf(1, ...more));
      expect(readdirSync(run)).toHaveLength(2 + more.length);
    }
  });

  it("may go into an empty folder, and where a link leads", () => {
    mkdirSync(run);
    symlinkSync("run", join(home, "link"));
    writeRunFolder(join(home, "link"), filesOf(1));
    expect(heapIn(run)).toEqual([1]);
    expect(readdirSync(home)).toEqual(["link", "run"]);
  });

  it("leave everything as it was when one of them cannot be written", () => {
    expect(() => writeRunFolder(join(home, "a", "b"), [...filesOf(1), impossible])).toThrow();
    expect(readdirSync(home)).toEqual([]);
    writeRunFolder(run, filesOf(1));
    expect(() => writeRunFolder(run, [...filesOf(2), impossible])).toThrow();
    expect(readdirSync(home)).toEqual(["run"]);
    expect(heapIn(run)).toEqual([1]);
  });

  it("are taken back when their writing ends early", () => {
    writeRunFolder(run, filesOf(1));
    const claim = FolderClaim.take(run);
    const pieces = claim.pieces(filesOf(2));
    pieces.next();
    pieces.next();
    pieces.return(undefined);
    claim.release();
    expect(readdirSync(home)).toEqual(["run"]);
    expect(heapIn(run)).toEqual([1]);
  });

  it("are checked for beforehand, without a trace", () => {
    assertFolderWritable(join(home, "a", "b"));
    expect(readdirSync(home)).toEqual([]);
    writeFileSync(join(home, "file"), "");
    expect(() => assertFolderWritable(join(home, "file"))).toThrow(/file is not a folder$/);
    expect(() => assertFolderWritable(join(home, "file", "below"))).toThrow(UserError);
  });
});

describe("a folder that is refused", () => {
  it.each([
    [
      "what a run without such a file did not write",
      () => writeFileSync(join(run, "measured.json"), "{}"),
      "measured.json",
    ],
    ["notes beside a run", () => writeFileSync(join(run, "notes.txt"), "mine"), "notes.txt"],
    ["a run without its description", () => rmSync(join(run, "run.json")), "heap.memprofraw"],
    ["another description", () => writeFileSync(join(run, "run.json"), "{}"), "heap.memprofraw, run.json"],
    ["half a description", () => writeFileSync(join(run, "run.json"), '{"sch'), "heap.memprofraw, run.json"],
  ])("because of %s stays as it is", (_what, change, named) => {
    writeRunFolder(run, filesOf(1));
    change();
    const names = readdirSync(run);
    expect(() => writeRunFolder(run, filesOf(2))).toThrow(
      new UserError(
        `${run} has other files than a finished run (${named}); name another folder with --out, or remove them`,
      ),
    );
    expect(readdirSync(run)).toEqual(names);
    expect(readdirSync(home)).toEqual(["run"]);
    expect(heapIn(run)).toEqual([1]);
  });

  it("is the one where memshade was started", () => {
    const here = process.cwd();
    try {
      mkdirSync(run);
      process.chdir(run);
      expect(() => FolderClaim.take(".")).toThrow(
        /^\.: memshade was started there; name a folder of its own/,
      );
    } finally {
      process.chdir(here);
    }
    expect(readdirSync(home)).toEqual(["run"]);
  });

  it("is a link to nothing", () => {
    symlinkSync("nowhere", run);
    expect(() => FolderClaim.take(run)).toThrow(/is not a folder$/);
  });
});

describe("a claim", () => {
  it("is one process's, until it is given back", () => {
    const claim = FolderClaim.take(run);
    expect(() => FolderClaim.take(run)).toThrow(
      new UserError(
        `${run}: another run is writing to it (process ${process.pid}); wait for its end, or name another folder with --out`,
      ),
    );
    claim.release();
    FolderClaim.take(run).release();
    expect(readdirSync(home)).toEqual([]);
  });

  it("that was given back is not taken from somebody who has it now", () => {
    const claim = FolderClaim.take(run);
    claim.release();
    const now = JSON.stringify({ pid: 1, host: "elsewhere", started: "" });
    leaveClaim(now);
    claim.release();
    expect(readFileSync(join(home, ".run.partial", "owner"), "utf8")).toBe(now);
  });

  it("can be lent, and is not given back by who borrowed it", () => {
    const claim = FolderClaim.take(run);
    const borrowed = FolderClaim.take(run, ownIdentity());
    borrowed.write(filesOf(1));
    borrowed.release();
    expect(() => FolderClaim.take(run)).toThrow(/another run is writing/);
    claim.release();
    expect(readdirSync(home)).toEqual(["run"]);
    expect(heapIn(run)).toEqual([1]);
  });

  it("of a process that has ended is void, and so is one whose id belongs to another process now", () => {
    for (const owner of [deadProcess(), ownIdentity().replace(/"started":"[^"]*"/, '"started":"before"')]) {
      leaveClaim(owner);
      writeRunFolder(run, filesOf(1));
      expect(readdirSync(home)).toEqual(["run"]);
    }
  });

  it("from another machine counts, as nobody here can tell", () => {
    const claim = leaveClaim(JSON.stringify({ pid: 1, host: "elsewhere", started: "" }));
    expect(() => FolderClaim.take(run)).toThrow(
      new UserError(
        `${run}: another run is writing to it (process 1 on elsewhere); wait for its end, or name another folder with --out, or remove ${claim} if it has ended`,
      ),
    );
  });

  it("does not take away what happens to have its name", () => {
    mkdirSync(join(home, ".run.partial"));
    writeFileSync(join(home, ".run.partial", "mine"), "");
    mkdirSync(join(home, ".other.1-a.gone"));
    writeFileSync(join(home, ".other.1-a.gone", "mine"), "");
    expect(() => FolderClaim.take(run)).toThrow(/\.run\.partial is in the way; remove it$/);
    expect(readdirSync(home)).toEqual([".other.1-a.gone", ".run.partial"]);
  });

  it("goes to one of several processes that want it at once", async () => {
    leaveClaim(deadProcess());
    const module = new URL("../../../../src/record/host/run/folder-claim.ts", import.meta.url).href;
    const script = `
      import { FolderClaim } from ${JSON.stringify(module)};
      try { FolderClaim.take(process.argv[1]); process.stdout.write("mine"); }
      catch (error) { process.stdout.write(error.message.includes("another run is writing") ? "theirs" : error.stack); }
      process.stdin.resume();`;
    const children = Array.from({ length: 4 }, () =>
      spawn(process.execPath, ["--input-type=module", "-e", script, run], { stdio: ["pipe", "pipe", 2] }),
    );
    const answers = await Promise.all(
      children.map(
        (child) => new Promise<string>((done) => child.stdout!.once("data", (text) => done(String(text)))),
      ),
    );
    for (const child of children) child.stdin!.end();
    expect(answers.sort()).toEqual(["mine", "theirs", "theirs", "theirs"]);
  });
});

describe("what a killed process leaves", () => {
  it.each([
    ["while it wrote", ["new"], 1],
    ["when the earlier run had made room", ["new", "old"], 2],
  ])("%s is settled by the next run beside it", (_when, inside, heap) => {
    if (!inside.includes("old")) writeRunFolder(run, filesOf(1));
    leaveClaim(deadProcess(), ...inside);
    assertFolderWritable(join(home, "another"));
    expect(readdirSync(home)).toEqual(["run"]);
    expect(heapIn(run)).toEqual([heap]);
  });

  it.each([
    ["the new run", ["new", "old"], 2],
    ["the earlier one", ["old"], 1],
  ])("between two runs is settled when the run is asked for: it is %s", async (_which, inside, heap) => {
    leaveClaim(deadProcess(), ...inside);
    await settleRun(run);
    expect(readdirSync(home)).toEqual(["run"]);
    expect(heapIn(run)).toEqual([heap]);
  });

  it("of a run that is going on stays", async () => {
    leaveClaim(ownIdentity(), "old");
    await settleRun(run);
    expect(readdirSync(home)).toEqual([".run.partial"]);
  });

  it("before it had the claim, or after, goes too", () => {
    const { pid } = JSON.parse(deadProcess());
    mkdirSync(join(home, `.run.${pid}-a1.claim`));
    mkdirSync(join(home, `.run.7.${pid}-b2.gone`));
    mkdirSync(join(home, `.run.${process.pid}-c3.gone`));
    assertFolderWritable(join(home, "another"));
    expect(readdirSync(home)).toEqual([`.run.${process.pid}-c3.gone`]);
  });
});

describe("a process", () => {
  it("is running until it has ended", async () => {
    expect(isRunning(ownIdentity())).toBe(true);
    expect(isRunning(deadProcess())).toBe(false);
    expect(isRunning("nobody")).toBeUndefined();
  });

  it.skipIf(process.platform === "win32")("has ended when only its parent has not noticed yet", async () => {
    // `exec` replaces the shell, and the new program has no record of the shell's child.
    const parent = spawn("sh", ["-c", "sleep 60 >&2 & echo $!; exec sleep 60"], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    const child = Number(await new Promise((done) => parent.stdout!.once("data", done)));
    const identity = JSON.stringify({ pid: child, host: hostname(), started: "" });
    expect(isRunning(identity)).toBe(true);
    process.kill(child, "SIGKILL");
    while (isRunning(identity)) await new Promise((done) => setTimeout(done, 10));
    expect(() => process.kill(child, 0)).not.toThrow();
    parent.kill();
  });
});
