import { zstdCompressSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { sourceOfBytes } from "../../../src/bytes/byte-source.ts";
import { FormatError } from "../../../src/bytes/errors.ts";
import { type PerfRecord, readPerfData, splitCallChain } from "../../../src/formats/perf-data/index.ts";
import { RoundOrder } from "../../../src/formats/perf-data/round-order.ts";
import { nodeZstdStream } from "../../../src/report/load-dump.ts";
import { DumpWriter } from "./dump-pictures.ts";

const IP_TID_TIME = 1 | 2 | 4;
const PERIOD = 0x100;
const USER = 0x1000 | 0x2000;
const SAMPLE_TYPE = IP_TID_TIME | PERIOD | USER;

/** `perf_event_attr` of a clock that copies two registers (bp, sp) and the stack. */
const ATTR = new DumpWriter()
  .u32(1)
  .u32(128)
  .u64(0)
  .to(24)
  .u64(SAMPLE_TYPE)
  .to(40)
  .u64(1 << 18)
  .to(80)
  .u64(0b1100_0000)
  .u32(4096)
  .to(128)
  .finish();

function record(type: number, body: Uint8Array, misc = 0): Uint8Array {
  const size = Math.ceil((8 + body.length) / 8) * 8;
  return new DumpWriter().u32(type).u16(misc).u16(size).bytes(body).to(size).finish();
}

/** The sample id behind records that are no samples: pid, tid, time. */
const sampleId = (time: number) => new DumpWriter().u32(7).u32(8).u64(time).finish();
const padded = (text: string) => text + "\0".repeat(8 - (text.length % 8));

const comm = (time: number, name: string) =>
  record(3, new DumpWriter().u32(7).u32(8).text(padded(name)).bytes(sampleId(time)).finish());
const mmap2 = (time: number, start: number, path: string) =>
  record(
    10,
    new DumpWriter()
      .u32(7)
      .u32(8)
      .u64(start)
      .u64(0x1000)
      .u64(0x2000)
      .zeros(24)
      .u32(5)
      .u32(2)
      .text(padded(path))
      .bytes(sampleId(time))
      .finish(),
  );
const sample = (time: number, ip: number, stack = "") => {
  const content = padded(stack);
  const body = new DumpWriter().u64(ip).u32(7).u32(8).u64(time).u64(99).u64(2).u64(0xb0).u64(0x50);
  return record(9, body.u64(content.length).text(content).u64(stack.length).finish());
};
const finishedRound = record(68, new Uint8Array(0));

/** A file with one event and these records; a pipe has its attribute among the records. */
function drawPerfData(records: readonly Uint8Array[], isPipe = false): Uint8Array {
  const data = new DumpWriter();
  if (isPipe) {
    data
      .text("PERFILE2")
      .u64(16)
      .bytes(record(64, new DumpWriter().bytes(ATTR).u64(1).finish()));
    for (const one of records) data.bytes(one);
    return data.finish();
  }
  for (const one of records) data.bytes(one);
  const content = data.finish();
  const attrs = 104;
  const start = attrs + ATTR.length + 16;
  const features = start + content.length + 16;
  const command = new DumpWriter().u32(2).u32(8).text(padded("perf")).u32(8).text(padded("record")).finish();
  return new DumpWriter()
    .text("PERFILE2")
    .u64(104)
    .u64(ATTR.length + 16)
    .u64(attrs)
    .u64(ATTR.length + 16)
    .u64(start)
    .u64(content.length)
    .u64(0)
    .u64(0)
    .u64(1 << 11)
    .to(attrs)
    .bytes(ATTR)
    .u64(0)
    .u64(0)
    .bytes(content)
    .u64(features)
    .u64(command.length)
    .bytes(command)
    .finish();
}

async function recordsOf(
  file: Uint8Array,
): Promise<{ seen: string[]; gaps: readonly string[]; command: string }> {
  const seen: string[] = [];
  const { header, gaps } = await readPerfData(sourceOfBytes(file), {
    zstd: nodeZstdStream,
    onRecord: (one) => seen.push(describeRecord(one)),
  });
  return { seen, gaps, command: header.commandLine.join(" ") };
}

function describeRecord(one: PerfRecord): string {
  switch (one.kind) {
    case "sample": {
      const registers = one.registers === undefined ? "" : ` bp=${one.registers.getUint32(0, true)}`;
      const stack = new TextDecoder().decode(one.stack);
      return `sample ${one.time} ip=${one.ip} tid=${one.tid} period=${one.period}${registers} stack=${stack}`;
    }
    case "mmap":
      return `mmap ${one.path} ${one.start}+${one.length}@${one.fileOffset} ${one.isExecutable ? "x" : "-"}`;
    case "comm":
      return `comm ${one.name}`;
    default:
      return one.kind;
  }
}

const STORY = [
  sample(30, 0x1010, "two"),
  comm(1, "app"),
  mmap2(2, 0x1000, "/bin/app"),
  finishedRound,
  sample(10, 0x1000, "one"),
  finishedRound,
  sample(40, 0x1020),
];
const IN_ORDER = [
  "comm app",
  "mmap /bin/app 4096+4096@8192 x",
  "sample 10 ip=4096 tid=8 period=99 bp=176 stack=one",
  "sample 30 ip=4112 tid=8 period=99 bp=176 stack=two",
  "sample 40 ip=4128 tid=8 period=99 bp=176 stack=",
];

describe("perf.data", () => {
  it("is told in the order of time, though processors are written one after the other", async () => {
    const { seen, gaps, command } = await recordsOf(drawPerfData(STORY));
    expect(seen).toEqual(IN_ORDER);
    expect({ gaps, command }).toEqual({ gaps: [], command: "perf record" });
  });

  it("that was written to a pipe has everything in records", async () => {
    expect((await recordsOf(drawPerfData(STORY, true))).seen).toEqual(IN_ORDER);
  });

  it.each([81, 83])(
    "may be compressed, records reaching from one piece into the next (record %d)",
    async (type) => {
      const content = new DumpWriter();
      for (const one of STORY) content.bytes(one);
      const bytes = content.finish();
      // Two frames stand for two flushes of perf's one stream; the cut goes through a record.
      const pieces = [bytes.subarray(0, 100), bytes.subarray(100)].map((piece) => zstdCompressSync(piece));
      const records = pieces.map((piece) => {
        const body =
          type === 83 ? new DumpWriter().u64(piece.length).bytes(piece) : new DumpWriter().bytes(piece);
        const size = type === 83 ? Math.ceil((8 + body.length) / 8) * 8 : 8 + body.length;
        return new DumpWriter().u32(type).u16(0).u16(size).bytes(body.finish()).to(size).finish();
      });
      expect(await recordsOf(drawPerfData(records))).toMatchObject({ seen: IN_ORDER, gaps: [] });
    },
  );

  it("that was cut off is read as far as it goes", async () => {
    const whole = drawPerfData([comm(1, "app"), sample(10, 0x1000)], true);
    const { seen, gaps } = await recordsOf(whole.subarray(0, whole.length - 8));
    expect(seen).toEqual(["comm app"]);
    expect(gaps.join()).toContain("cut off");
  });

  it("with samples that are too short leaves them out and says so", async () => {
    const short = record(9, new DumpWriter().u64(1).u32(7).u32(8).u64(5).u64(1).u64(2).finish());
    const { seen, gaps } = await recordsOf(drawPerfData([short, sample(10, 0x1000)]));
    expect(seen).toHaveLength(1);
    expect(gaps).toEqual(["1 samples are damaged and left out."]);
  });

  it("of other machines or kinds is refused", async () => {
    await expect(recordsOf(new TextEncoder().encode("2ELIFREP"))).rejects.toThrow("little-endian");
    await expect(recordsOf(drawPerfData([]).subarray(0, 50))).rejects.toThrow(FormatError);
  });

  it("ends in records or a FormatError, whatever is damaged", async () => {
    const file = drawPerfData(STORY);
    const change = fc.tuple(
      fc.nat(file.length - 1),
      fc.oneof(fc.nat(255), fc.constantFrom(0, 0x51, 0x80, 0xff)),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(change, { minLength: 1, maxLength: 6 }),
        fc.nat(file.length),
        async (changes, cut) => {
          const damaged = file.slice(0, cut);
          for (const [at, value] of changes) if (at < cut) damaged[at] = value;
          try {
            expect((await recordsOf(damaged)).seen.length).toBeLessThanOrEqual(file.length / 8);
          } catch (error) {
            expect(error).toBeInstanceOf(FormatError);
          }
        },
      ),
      { numRuns: 400 },
    );
  });
});

describe("the order of records", () => {
  it("is that of time, and within one time that of the file", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(5), { maxLength: 3000 }), (story) => {
        const emitted: DataView[] = [];
        const order = new RoundOrder((one) => emitted.push(one));
        const piece = { view: new DataView(new ArrayBuffer(8 * story.length)), queued: 0 };
        const records = story.map((time, i) => ({ time, offset: 8 * i }));
        for (const { time, offset } of records) order.add(piece, offset, 8, time);
        expect(piece.queued).toBe(records.length);
        order.finish();
        const sorted = records.toSorted((a, b) => a.time - b.time);
        expect(emitted.map(({ byteOffset }) => byteOffset)).toEqual(sorted.map(({ offset }) => offset));
        expect(emitted.every(({ byteLength }) => byteLength === 8)).toBe(true);
        expect(piece.queued).toBe(0);
      }),
    );
  });
});

describe("a call chain", () => {
  it("is split at its markers", () => {
    const words = [-128n, 0xffffffff81000000n, -512n, 0x401000n, 0x401100n].map((word) =>
      BigInt.asUintN(64, word),
    );
    const view = new DataView(new BigUint64Array(words).buffer);
    expect(splitCallChain(view)).toEqual({ kernel: ["ffffffff81000000"], user: [0x401000, 0x401100] });
    expect(splitCallChain(new DataView(new ArrayBuffer(0)))).toEqual({ kernel: [], user: [] });
  });
});
