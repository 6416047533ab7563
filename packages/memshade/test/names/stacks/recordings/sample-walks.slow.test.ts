import { readFileSync } from "node:fs";
import path from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ModuleMap, StackImage, Unwinder } from "../../../../src/code/unwind/index.ts";
import { sourceOfBytes } from "../../../../src/ground/bytes/byte-source.ts";
import { ObjectFinder } from "../../../../src/names/load/objects.ts";
import { MappedModule, NativeFile, type ObjectSource } from "../../../../src/names/stacks/native-file.ts";
import { nodeZstd } from "../../../../src/names/stacks/recordings/named-samples.ts";
import { SampleRegisters, unwindPerfData } from "../../../../src/names/stacks/recordings/sample-walks.ts";
import { readPerfData } from "../../../../src/profile/formats/perf-data/index.ts";
import {
  CALL_CHAIN_SAMPLES,
  chainSample,
  comm,
  drawPerfData,
  finishedRound,
  fork,
  mmap2,
} from "../../../profile/formats/dumps/perf-data-pictures.ts";
import { sharedPath } from "../../../shared-path.ts";

const fixtures = sharedPath("fixtures/unwind");

const NOWHERE: ObjectSource = { find: () => ({ missing: "was not found" }), findDebugFile: () => undefined };
const USER = -512n;
const KERNEL = -128n;

interface Walked {
  readonly frames: readonly number[];
  readonly end: string | undefined;
}

/** Stacks of all samples, as the product walks them. */
async function walk(file: Uint8Array, objects: ObjectSource): Promise<Walked[]> {
  const walked: Walked[] = [];
  await unwindPerfData(sourceOfBytes(file), objects, {
    zstd: nodeZstd,
    onSample: ({ frames, end }) => walked.push({ frames: frames.map(({ address }) => address), end }),
  });
  return walked;
}

/** The same stacks from the unwinder of cores alone. */
async function walkAsCores(file: Uint8Array, objects: ObjectSource): Promise<Walked[]> {
  const walked: Walked[] = [];
  const unwinders = new Map<number, Unwinder>();
  const unwinderOf = (pid: number) => {
    const known = unwinders.get(pid) ?? new Unwinder("x86_64", {}, new ModuleMap());
    unwinders.set(pid, known);
    return known;
  };
  await readPerfData(sourceOfBytes(file), {
    onRecord: (record, header) => {
      if (record.kind === "mmap" && record.pid !== -1 && record.length > 0) {
        const { start, length, fileOffset, path: name, buildId } = record;
        const mapped = new NativeFile(name, buildId, objects);
        unwinderOf(record.pid).modules.add(new MappedModule(mapped, start, start + length, fileOffset));
      }
      if (record.kind !== "sample" || record.registers === undefined || record.stack === undefined) return;
      const { target } = unwinderOf(record.pid);
      const layout = new SampleRegisters(target, header.events[record.event]!.userRegisters);
      const start = layout.address(record.registers, target.stackPointer);
      const image = new StackImage(start, record.stack);
      const { frames, end } = unwinderOf(record.pid).unwind(layout.read(record.registers), image);
      walked.push({ frames: frames.map(({ lookupAddress }) => lookupAddress), end });
    },
  });
  return walked;
}

type SeenPlace = [name: string | undefined, shownAddress: number];

const PAGE = 0x1000;
const somePid = fc.integer({ min: 1, max: 80 });
const somePage = fc.integer({ min: 1, max: 60 });
const processEvent = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("map" as const),
      pid: somePid,
      page: somePage,
      pages: fc.integer({ min: 1, max: 9 }),
      file: fc.constantFrom("/bin/a", "/bin/b", "/lib/a", "/lib/ab", "//anon", "/memfd:x", "[heap]"),
    }),
  },
  { weight: 8, arbitrary: fc.record({ kind: fc.constant("sample" as const), pid: somePid, page: somePage }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("fork" as const), pid: somePid, parent: somePid }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("exec" as const), pid: somePid }) },
);
type ProcessEvent = typeof processEvent extends fc.Arbitrary<infer Event> ? Event : never;

interface MappedProcess {
  modules: ModuleMap<MappedModule>;
  /** Mappings made since the process was about to run another program, until the first sample of that program. */
  sinceExec: ModuleMap<MappedModule> | undefined;
}

function becomeNewProgram(process: MappedProcess): void {
  process.modules = process.sinceExec ?? process.modules;
  process.sinceExec = undefined;
}

function copyOf(modules: ModuleMap<MappedModule>): ModuleMap<MappedModule> {
  const copy = new ModuleMap<MappedModule>();
  for (const module of modules.all) copy.add(module);
  return copy;
}

/** Process records and the expected positions of the samples among them, from a separate map for each process. */
function tellOfProcesses(events: readonly ProcessEvent[]): { records: Uint8Array[]; expected: SeenPlace[] } {
  const processes = new Map<number, MappedProcess>();
  const expected: SeenPlace[] = [];
  const processOf = (pid: number) => {
    const known = processes.get(pid) ?? { modules: new ModuleMap<MappedModule>(), sinceExec: undefined };
    processes.set(pid, known);
    return known;
  };
  const records = events.map((event, index) => {
    const time = index + 1;
    const { pid } = event;
    switch (event.kind) {
      case "map": {
        const [start, length] = [event.page * PAGE, event.pages * PAGE];
        const file = new NativeFile(event.file, undefined, NOWHERE);
        const { modules, sinceExec } = processOf(pid);
        for (const map of [modules, sinceExec])
          map?.add(new MappedModule(file, start, start + length, 3 * PAGE));
        return mmap2(time, start, event.file, { pid, length, fileOffset: 3 * PAGE });
      }
      case "sample": {
        const address = event.page * PAGE + 0x10;
        const known = processOf(pid);
        if (known.sinceExec?.find(address) !== undefined) becomeNewProgram(known);
        const module = known.modules.find(address);
        expected.push([module?.name, address + (module?.shownOffset ?? 0)]);
        return chainSample(time, address, [], pid);
      }
      case "fork": {
        if (pid !== event.parent) {
          const { modules, sinceExec } = processOf(event.parent);
          processes.set(pid, { modules: copyOf(modules), sinceExec: sinceExec && copyOf(sinceExec) });
        }
        return fork(time, pid, event.parent);
      }
      default:
        becomeNewProgram(processOf(pid));
        processOf(pid).sinceExec = new ModuleMap();
        return comm(time, "program", { pid, isExec: true });
    }
  });
  return { records, expected };
}

describe("samples with call chains", () => {
  it("are split at the markers, callers at the call and the program where it entered the kernel", async () => {
    const chain = [KERNEL, 0xffff_ffff_8100_0000n, USER, 0x40_1000n, 0x40_1100n, -4000n, 0x1234n];
    const file = drawPerfData([chainSample(5, 0x99, chain)], false, CALL_CHAIN_SAMPLES);
    const seen: object[] = [];
    await unwindPerfData(sourceOfBytes(file), NOWHERE, {
      zstd: nodeZstd,
      onSample: ({ kernel, frames, end }) =>
        seen.push({ kernel, frames: frames.map(({ address }) => address), end }),
    });
    const frames = [0x40_1000, 0x40_10ff];
    expect(seen).toEqual([{ kernel: ["ffffffff81000000"], frames, end: undefined }]);
  });

  it("have the place alone where there is no chain, in the kernel too", async () => {
    const records = [chainSample(1, 0x1234, []), chainSample(2, -(2 ** 31) + 2 ** 64, [])];
    let text = "";
    await unwindPerfData(sourceOfBytes(drawPerfData(records, false, CALL_CHAIN_SAMPLES)), NOWHERE, {
      zstd: nodeZstd,
      onText: (piece) => {
        text += new TextDecoder().decode(piece);
      },
    });
    expect(text).toBe("\n\t            1234\n\n\n\tffffffff80000000\n\n");
  });

  it("need no objects where nothing is named", async () => {
    const records = [mmap2(1, 0x1000, "/bin/app"), chainSample(2, 0x1010, [USER, 0x1010n, 0x1020n])];
    const asked: string[] = [];
    const objects: ObjectSource = {
      ...NOWHERE,
      find: ({ path: wanted }) => {
        asked.push(wanted);
        return { missing: "was not found" };
      },
    };
    await unwindPerfData(sourceOfBytes(drawPerfData(records, false, CALL_CHAIN_SAMPLES)), objects, {
      zstd: nodeZstd,
      onText: () => {},
    });
    expect(asked).toEqual([]);
  });

  it("are in what was mapped when they were taken", async () => {
    const records = [
      mmap2(1, 0x1000, "/bin/before"),
      chainSample(2, 0x1010, []),
      chainSample(3, 0x9010, []),
      mmap2(4, 0x1000, "/bin/after"),
      chainSample(5, 0x1010, []),
      mmap2(6, 0x9000, "/bin/new"),
      chainSample(7, 0x9010, []),
    ];
    const seen: (string | undefined)[] = [];
    await unwindPerfData(sourceOfBytes(drawPerfData(records, false, CALL_CHAIN_SAMPLES)), NOWHERE, {
      zstd: nodeZstd,
      onSample: ({ frames }) => seen.push(frames[0]!.module?.name),
    });
    expect(seen).toEqual(["/bin/before", undefined, "/bin/after", "/bin/new"]);
  });

  it("are in the program before while it is still in the call that runs another one", async () => {
    const chain = [KERNEL, -0x7f00_0000n, USER, 0x1010n];
    const records = [
      mmap2(1, 0x1000, "/lib/before"),
      comm(2, "program", { isExec: true }),
      chainSample(3, -0x7f00_0000, chain),
      mmap2(4, 0x9000, "/bin/after"),
      chainSample(5, -0x7f00_0000, chain),
      chainSample(6, 0x9010, []),
      chainSample(7, -0x7f00_0000, chain),
    ];
    const seen: (string | undefined)[] = [];
    await unwindPerfData(sourceOfBytes(drawPerfData(records, false, CALL_CHAIN_SAMPLES)), NOWHERE, {
      zstd: nodeZstd,
      onSample: ({ frames }) => seen.push(frames[0]!.module?.name),
    });
    expect(seen).toEqual(["/lib/before", "/lib/before", "/bin/after", undefined]);
  });

  it("are counted as damaged where the recording tells of no event", async () => {
    const records = [chainSample(1, 0x1234, [])];
    const file = drawPerfData(records, true, CALL_CHAIN_SAMPLES);
    // The event's record is the first one of a pipe.
    new DataView(file.buffer, file.byteOffset).setUint32(16, 999, true);
    let text = "";
    const { gaps } = await unwindPerfData(sourceOfBytes(file), NOWHERE, {
      zstd: nodeZstd,
      onText: (piece) => {
        text += new TextDecoder().decode(piece);
      },
    });
    expect(text).toBe("");
    expect(gaps).toEqual(["1 sample is damaged and left out."]);
  });

  it("are in what processes inherited, mapped since and lost", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(processEvent, { minLength: 1, maxLength: 400 }), async (events) => {
        const { records, expected } = tellOfProcesses(events);
        const seen: SeenPlace[] = [];
        await unwindPerfData(sourceOfBytes(drawPerfData(records, false, CALL_CHAIN_SAMPLES)), NOWHERE, {
          zstd: nodeZstd,
          onSample: ({ frames: [place] }) => seen.push([place!.module?.name, place!.shownAddress]),
        });
        expect(seen).toEqual(expected);
        // The text output comes from other code, and must be equal.
        let text = "";
        await unwindPerfData(sourceOfBytes(drawPerfData(records, false, CALL_CHAIN_SAMPLES)), NOWHERE, {
          zstd: nodeZstd,
          onText: (piece) => {
            text += new TextDecoder().decode(piece);
          },
        });
        const shown = text.split(/\s+/).filter((word) => word !== "");
        expect(shown).toEqual(expected.map(([, address]) => address.toString(16)));
      }),
      { numRuns: 150 },
    );
  });

  it("are right however many places they have", async () => {
    const samples = Array.from({ length: 70 }, (_, number) =>
      Array.from({ length: 8000 }, (_, frame) => 0x10_0000 + 16 * ((8000 * number + frame) % 300_000)),
    );
    const records = samples.map((frames, time) =>
      chainSample(time + 1, 0, [USER, ...frames.map((frame, i) => BigInt(i === 0 ? frame : frame + 1))]),
    );
    const file = drawPerfData([comm(1, "app"), ...records, finishedRound], false, CALL_CHAIN_SAMPLES);
    const walked = await walk(file, NOWHERE);
    expect(walked.length).toBe(samples.length);
    expect(walked.every(({ frames }, i) => frames.every((frame, at) => frame === samples[i]![at]))).toBe(
      true,
    );
  });
});

describe.skipIf(fixtures === undefined)("samples with copied stacks", () => {
  const directory = path.join(fixtures ?? "", "perf-dwarf");
  const objects = new ObjectFinder({ binaryPaths: [directory] });

  it("have the frames that the unwinder of cores gives", async () => {
    const file = readFileSync(path.join(directory, "perf.data"));
    const walked = await walk(file, objects);
    expect(walked.length).toBe(99);
    expect(walked).toEqual(await walkAsCores(file, objects));
  });

  it("have them where registers and stacks are damaged too", async () => {
    const file = readFileSync(path.join(directory, "perf.data"));
    const starts = sampleStarts(file);
    const change = fc.tuple(fc.constantFrom(...starts), fc.nat(700), fc.nat(255));
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 100, maxLength: 400 }), async (changes) => {
        const damaged = new Uint8Array(file);
        // Behind the fixed-size fields: registers, and the innermost part of the stack.
        for (const [start, at, value] of changes) damaged[start + 64 + at] = value;
        expect(await walk(damaged, objects)).toEqual(await walkAsCores(damaged, objects));
      }),
      { numRuns: 40 },
    );
  });
});

function sampleStarts(file: Uint8Array): number[] {
  const view = new DataView(file.buffer, file.byteOffset, file.length);
  const starts: number[] = [];
  const end = view.getUint32(40, true) + view.getUint32(48, true);
  for (let at = view.getUint32(40, true); at < end; at += view.getUint16(at + 6, true))
    if (view.getUint32(at, true) === 9) starts.push(at);
  return starts;
}
