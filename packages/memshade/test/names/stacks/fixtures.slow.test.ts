import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { ObjectFinder } from "../../../src/names/load/objects.ts";
import { unwindImage } from "../../../src/names/stacks/image-stacks.ts";
import { openDump } from "../../../src/names/stacks/load-dump.ts";
import { nameImageStacks } from "../../../src/names/stacks/named-image.ts";
import { loadFrameNamer, preferAsGdb, preferAsPerf } from "../../../src/names/stacks/names.ts";
import { nodeZstd, SampleNamer } from "../../../src/names/stacks/recordings/named-samples.ts";
import { unwindPerfData } from "../../../src/names/stacks/recordings/sample-walks.ts";
import { nativeStacksJson } from "../../../src/show/report/json/native-stacks.ts";
import { perfSampleText } from "../../../src/show/report/terminal/stacks.ts";
import { sharedPath } from "../../shared-path.ts";

const fixtures = sharedPath("fixtures/unwind");

const CORES: readonly [folder: string, core: string, expected: string][] = [
  ["recursion", "core.gz", "expected.json"],
  ["frames-mix", "core.gz", "expected.json"],
  ["signal-callback", "core.gz", "expected.json"],
  ["threads", "core.gz", "expected.json"],
  ["aarch64-frames", "core.gz", "expected.json"],
  ...["plt-entry", "plt-pushed", "plt0-pushed", "dl-fixup"].map((place): [string, string, string] => [
    "plt-dynamic",
    `core.${place}.gz`,
    `expected.${place}.json`,
  ]),
];

interface ShownFrame {
  pc: string;
  kind: string;
  cfa?: string;
  stop?: string;
  symbol?: string;
  regs: Record<string, string>;
}

interface ShownThreads {
  arch: string;
  threads: { thread: number; lwp: number; frames: ShownFrame[] }[];
}

async function unwindCore(folder: string, core: string): Promise<{ shown: ShownThreads; missing: string[] }> {
  const directory = path.join(fixtures!, folder);
  const dump = await openDump(path.join(directory, core));
  if (dump.kind !== "image") throw new Error("not a dump of a process");
  const finder = new ObjectFinder({ binaryPaths: [directory] });
  const stacks = unwindImage(dump.image, finder, { registers: true });
  const named = nameImageStacks(stacks, loadFrameNamer(preferAsGdb), { registers: true });
  const json = [...nativeStacksJson(named)].join("");
  dump.close();
  return { shown: JSON.parse(json), missing: stacks.files.flatMap((file) => file.missing ?? []) };
}

describe.skipIf(fixtures === undefined)("all threads of the cores whose stacks GDB has told", () => {
  it.each(CORES)("%s %s", async (folder, core, expected) => {
    const truth: ShownThreads = JSON.parse(readFileSync(path.join(fixtures!, folder, expected), "utf8"));
    const { shown, missing } = await unwindCore(folder, core);
    // The C library of the machine that wrote the core may differ from this machine's.
    if (missing.length > 0) {
      console.warn(`SKIPPED: ${folder}/${core} needs objects that are not on this machine`);
      return;
    }
    const facts = ({ arch, threads }: ShownThreads) => ({
      arch,
      threads: threads.map(({ thread, lwp, frames }) => ({
        thread,
        lwp,
        frames: frames.map(({ pc, kind, cfa, stop, regs }, index) => {
          // GDB's list omits registers with unknown values.
          const known = truth.threads.find((one) => one.lwp === lwp)?.frames[index]?.regs ?? {};
          const common = Object.entries(regs).filter(([name]) => name in known);
          return { pc, kind, cfa, stop, regs: Object.fromEntries(common) };
        }),
      })),
    });
    expect(facts(shown)).toEqual(facts(truth));
    const frames = truth.threads.reduce((sum, thread) => sum + thread.frames.length, 0);
    expect(frames).toBeGreaterThan(7);
  });
});

describe.skipIf(fixtures === undefined)("a stub of the procedure linkage table", () => {
  it.each([
    ["plt-entry", "lib_leaf@plt"],
    ["plt-pushed", "lib_leaf@plt"],
    ["plt0-pushed", undefined],
  ])("has the name that GDB gives it: %s", async (place, name) => {
    const { shown } = await unwindCore("plt-dynamic", `core.${place}.gz`);
    const [frame] = shown.threads[0]!.frames;
    expect(frame!.symbol?.replace(/ ?\+.*/, "")).toBe(name);
  });
});

describe.skipIf(fixtures === undefined)("the samples of perf.data", () => {
  it("are what perf script prints", async () => {
    const directory = path.join(fixtures!, "perf-dwarf");
    const dump = await openDump(path.join(directory, "perf.data"));
    if (dump.kind !== "perf") throw new Error("not perf.data");
    const namer = loadFrameNamer(preferAsPerf);
    let printed = "";
    let addresses = "";
    const objects = new ObjectFinder({ binaryPaths: [directory] });
    const { lost, gaps } = await unwindPerfData(dump.source, objects, {
      zstd: nodeZstd,
      onSample: (stack, header) => {
        printed += perfSampleText(new SampleNamer(namer).name(stack), header);
      },
    });
    await unwindPerfData(dump.source, objects, {
      zstd: nodeZstd,
      onText: (text) => {
        addresses += new TextDecoder().decode(text);
      },
    });
    dump.close();
    expect({ lost, gaps }).toEqual({ lost: 0, gaps: [] });
    const script = readFileSync(path.join(directory, "script.txt"), "utf8");
    expect(printed).toBe(script);
    // `perf script -F ip` prints the same lines with addresses only.
    expect(addresses).toBe(script.replaceAll(/^\S.*$/gm, "").replaceAll(/^(\t *[0-9a-f]+) .*$/gm, "$1"));
  });
});
