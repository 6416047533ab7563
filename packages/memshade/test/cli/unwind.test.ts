import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { gunzipSync, gzipSync, zstdCompressSync } from "node:zlib";
import { Command } from "commander";
import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { addUnwindCommand } from "../../src/cli/commands/unwind.ts";
import { UserError } from "../../src/ground/bytes/errors.ts";
import { drawElf, drawSymbols } from "../code/objects/elf-picture.ts";
import {
  DumpWriter,
  drawCore,
  drawFiles,
  drawMinidump,
  drawThread,
  RIP,
  RSP,
} from "../profile/formats/dumps/dump-pictures.ts";
import { sharedPath } from "../shared-path.ts";

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "memshade-"));
afterAll(() => fs.rmSync(folder, { recursive: true }));
afterEach(() => {
  vi.restoreAllMocks();
});

function write(name: string, content: Uint8Array): string {
  const file = path.join(folder, name);
  fs.writeFileSync(file, content);
  return file;
}

async function memshade(...words: string[]): Promise<string> {
  const program = new Command("memshade").exitOverride();
  addUnwindCommand(program);
  const pieces: Uint8Array[] = [];
  vi.spyOn(process.stdout, "write").mockImplementation((piece) => {
    pieces.push(Buffer.from(piece as string));
    return true;
  });
  await program.parseAsync(["unwind", ...words], { from: "user" });
  return Buffer.concat(pieces).toString("utf8");
}

const BASE = 0x400000;
const { symbols, strings } = drawSymbols([
  { name: "_Z4workv", address: 0x1000, size: 0x100 },
  { name: "main", address: 0x1100, size: 0x100 },
]);
const program = drawElf({
  sections: [
    { name: ".text", type: 1, flags: 6, address: 0, content: new Uint8Array(0x2000) },
    { name: ".symtab", type: 2, link: ".strtab", content: symbols },
    { name: ".strtab", type: 3, content: strings },
  ],
  segments: [{ type: 1, flags: 5, address: 0, section: ".text" }],
});
write("app", program);

/** `main` called `work` in the usual way, with a frame pointer; `main` has no caller. */
const FRAME = RSP + 16;
const stack = new DumpWriter()
  .u64(0)
  .u64(0)
  .u64(0)
  .u64(BASE + 0x1180)
  .u64(0)
  .finish();
const thread = drawThread(5, BASE + 0x1010);
// rbp has number 4 in the kernel's order.
new DataView(thread.buffer, thread.byteOffset).setBigUint64(20 + 112 + 4 * 8, BigInt(FRAME), true);
const core = drawCore([thread, drawFiles([[BASE, BASE + 0x2000, 0, "/opt/app"]])], [[RSP, stack]]);

const TEXT = [
  "Program terminated with signal SIGSEGV, Segmentation fault.",
  "",
  "Thread 1 (LWP 5):",
  "#0  0x0000000000401010 in work () from /opt/app",
  "#1  0x0000000000401180 in main () from /opt/app [by frame pointer]",
];

describe("memshade unwind", () => {
  it.each([
    ["plain", core],
    ["gzip", gzipSync(core)],
    ["zstd", zstdCompressSync(core)],
  ])("shows the stacks of a core dump as GDB does (%s)", async (name, content) => {
    const printed = await memshade(write(`core.${name}`, content), "--binary-path", folder);
    expect(printed.split("\n").slice(0, TEXT.length)).toEqual(TEXT);
  });

  it("names the objects that are not there, and says why the stack ends", async () => {
    const printed = await memshade(write("core", core));
    expect(printed).toContain("Missing: /opt/app was not found.\n");
    expect(printed).toContain("--binary-path DIR, --sysroot DIR");
    expect(printed).toContain("Backtrace stopped: ");
  });

  it("writes JSON, with registers if asked to", async () => {
    const file = write("core", core);
    const plain = JSON.parse(await memshade(file, "--binary-path", folder, "--format", "json"));
    expect(plain).toMatchObject({ arch: "x86_64", signal: 11, missing: [] });
    const [first, second] = plain.threads[0].frames;
    expect(first).toEqual({
      pc: "0x401010",
      kind: "normal",
      function: "work",
      symbol: "work() + 16",
      module: "/opt/app",
      foundBy: "context",
      cfa: `0x${(FRAME + 16).toString(16)}`,
    });
    expect(second).toMatchObject({ function: "main", symbol: "main + 128", foundBy: "frame-pointer" });
    const full = JSON.parse(await memshade(file, "--binary-path", folder, "--format", "json", "--regs"));
    expect(full.threads[0].frames[1].regs.rsp).toBe(`0x${(FRAME + 16).toString(16)}`);
  });

  it("leaves frame pointers alone if told so", async () => {
    const printed = await memshade(write("core", core), "--binary-path", folder, "--no-frame-pointers");
    expect(printed).not.toContain("by frame pointer");
  });

  it("reads minidumps", async () => {
    const modules = [{ base: BASE, size: 0x2000, path: "/opt/app" }];
    const file = write("dump", drawMinidump({ threads: [{ id: 9, pc: BASE + 0x1010 }], modules, stack }));
    const printed = await memshade(file, "--binary-path", folder);
    expect(printed).toContain("Thread 1 (LWP 9):\n#0  0x0000000000401010 in work () from /opt/app\n");
  });

  const recording = sharedPath("fixtures/unwind/perf-dwarf/perf.data");
  it.skipIf(recording === undefined)(
    "says what a recording that was cut off has, and no command",
    async () => {
      const cut = write("cut.data", fs.readFileSync(recording!).subarray(0, 5000));
      const printed = await memshade(cut);
      expect(printed).not.toContain("Recorded by");
      expect(printed).toContain("The last record is incomplete: the file was cut off.");
    },
  );

  it("exports for flame graphs", async () => {
    const file = write("core", core);
    const folded = await memshade(file, "--binary-path", folder, "--format", "folded");
    expect(folded).toMatch(/^(?:\w+;)*main;work 1\n$/);
    const speedscope = JSON.parse(await memshade(file, "--binary-path", folder, "--format", "speedscope"));
    expect(speedscope.shared.frames.map(({ name }: { name: string }) => name)).toContain("work");
    const firefox = JSON.parse(await memshade(file, "--binary-path", folder, "--format", "firefox"));
    expect(firefox.shared.stringArray).toContain("work");
    const out = path.join(folder, "out.pb.gz");
    await memshade(file, "--binary-path", folder, "--format", "pprof", "-o", out);
    expect(gunzipSync(fs.readFileSync(out)).toString("latin1")).toContain("work");
  });

  it("prints statistics of an object", async () => {
    expect(await memshade("--stats", path.join(folder, "app"))).toMatch(
      /x86_64, no call frame information\n\nFDEs +0\n/,
    );
    expect(JSON.parse(await memshade("--stats", path.join(folder, "app"), "--format", "json")).rows).toBe(0);
  });

  it.each([
    ["nothing", undefined, "there is no such file"],
    ["empty", new Uint8Array(0), "it is empty"],
    ["text", new TextEncoder().encode("hello"), "is neither a core dump, perf.data nor a minidump"],
    ["program", program, "is neither a core dump, perf.data nor a minidump"],
    ["cut", core.subarray(0, 80), "the dump has no threads"],
    ["compressed text", gzipSync("hello"), "is neither a core dump, perf.data nor a minidump"],
  ])("refuses what it cannot read in one line (%s)", async (name, content, message) => {
    const file = content === undefined ? path.join(folder, name) : write(name, content);
    const failure = await memshade(file).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(UserError);
    expect((failure as Error).message).toContain(message);
    expect((failure as Error).message).not.toContain("\n");
  });

  it("leaves no file behind when it cannot finish one", async () => {
    const out = path.join(folder, "none.json");
    await expect(memshade(write("text", new TextEncoder().encode("hello")), "-o", out)).rejects.toThrow(
      UserError,
    );
    await expect(memshade(write("core", core), "-o", path.join(folder, "none/x"))).rejects.toThrow(
      "no such file",
    );
    await expect(memshade(write("core", core), "--binary-path", "/none")).rejects.toThrow(
      "--binary-path /none",
    );
    expect(fs.readdirSync(folder).filter((name) => name.startsWith(".") || name === "none.json")).toEqual([]);
  });

  it("takes a program counter outside of everything as it is", async () => {
    const printed = await memshade(write("lost", drawCore([drawThread(1, RIP)], [])));
    expect(printed).toContain("#0  0x0000000000401000 in ?? ()");
  });
});
