import { zstdCompressSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { sourceOfBytes } from "../../../../src/ground/bytes/byte-source.ts";
import { FormatError } from "../../../../src/ground/bytes/errors.ts";
import { nodeZstd } from "../../../../src/names/stacks/recordings/named-samples.ts";
import { type PerfRecord, readPerfData } from "../../../../src/profile/formats/perf-data/index.ts";
import { DumpWriter } from "../dumps/dump-pictures.ts";
import { comm, drawPerfData, finishedRound, mmap2, record, sample } from "../dumps/perf-data-pictures.ts";

async function recordsOf(
  file: Uint8Array,
): Promise<{ seen: string[]; gaps: readonly string[]; command: string }> {
  const seen: string[] = [];
  const { header, gaps } = await readPerfData(sourceOfBytes(file), {
    zstd: nodeZstd,
    onRecord: (one) => seen.push(describeRecord(one)),
  });
  return { seen, gaps, command: header.commandLine.join(" ") };
}

function describeRecord(one: PerfRecord): string {
  switch (one.kind) {
    case "sample": {
      const hasRegisters = one.registers !== undefined && one.registers.byteLength >= 4;
      const registers = hasRegisters ? ` bp=${one.registers.getUint32(0, true)}` : "";
      const stack = new TextDecoder().decode(one.stack);
      return `sample ${one.time} ip=${one.ip} tid=${one.tid} period=${one.period}${registers} stack=${stack}`;
    }
    case "mmap":
      return `mmap ${one.path} ${one.start}+${one.length}@${one.fileOffset}`;
    case "comm":
      return `comm ${one.name}`;
    default:
      return one.kind;
  }
}

/** A record that contains compressed records; its size is not rounded, as perf writes it. */
function compressed(content: Uint8Array): Uint8Array {
  const body = zstdCompressSync(content);
  return new DumpWriter()
    .u32(81)
    .u16(0)
    .u16(8 + body.length)
    .bytes(body)
    .finish();
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
  "mmap /bin/app 4096+4096@8192",
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
      // Two frames represent two flushes of perf's only stream; the cut is inside a record.
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

  it("may be compressed to far less than it is, and records cut anywhere", async () => {
    // More than a megabyte, in records of up to 60,000 bytes: each way of running out of space occurs.
    const stacks = Array.from({ length: 60 }, (_, index) =>
      sample(10 + index, 0x1000, "stack ".repeat((index * 997) % 10_000)),
    );
    const content = Buffer.concat([comm(1, "app"), ...stacks]);
    const plain = await recordsOf(drawPerfData([comm(1, "app"), ...stacks]));
    expect(await recordsOf(drawPerfData([compressed(content)]))).toEqual(plain);
  });

  it("is not compressed twice", async () => {
    const twice = compressed(Buffer.concat([compressed(comm(1, "app")), comm(2, "seen")]));
    expect((await recordsOf(drawPerfData([twice]))).seen).toEqual(["comm seen"]);
  });

  it("that was cut off is read as far as it goes", async () => {
    const whole = drawPerfData([comm(1, "app"), sample(10, 0x1000)], true);
    const { seen, gaps } = await recordsOf(whole.subarray(0, whole.length - 8));
    expect(seen).toEqual(["comm app"]);
    expect(gaps.join()).toContain("cut off");
  });

  it("whose events claim to reach into the records has those in front of them", async () => {
    const records = Array.from({ length: 50 }, () =>
      comm(1, "a name as long as an event's description".repeat(4)),
    );
    const file = drawPerfData(records);
    const changed = new DataView(file.buffer, file.byteOffset);
    changed.setBigUint64(32, BigInt(file.length), true);
    const { seen } = await recordsOf(file);
    expect(seen).toHaveLength(records.length);
    const { header } = await readPerfData(sourceOfBytes(file), { zstd: nodeZstd, onRecord: () => {} });
    expect(header.events).toHaveLength(1);
  });

  it("whose events claim the whole file as their ids has no more ids than bytes for them", async () => {
    const whole = drawPerfData(STORY);
    const header = new DataView(whole.buffer, whole.byteOffset);
    const entryBytes = Number(header.getBigUint64(16, true));
    const entry = whole.slice(Number(header.getBigUint64(24, true))).subarray(0, entryBytes);
    const entryView = new DataView(entry.buffer, entry.byteOffset);
    const events = 200;
    const file = new Uint8Array(whole.length + events * entryBytes);
    entryView.setBigUint64(entryBytes - 16, 0n, true);
    entryView.setBigUint64(entryBytes - 8, BigInt(file.length), true);
    file.set(whole);
    for (let event = 0; event < events; event++) file.set(entry, whole.length + event * entryBytes);
    const changed = new DataView(file.buffer);
    changed.setBigUint64(24, BigInt(whole.length), true);
    changed.setBigUint64(32, BigInt(events * entryBytes), true);
    const { header: read } = await readPerfData(sourceOfBytes(file), {
      zstd: nodeZstd,
      onRecord: () => {},
    });
    expect(read.events).toHaveLength(events);
    expect(read.events.reduce((sum, { ids }) => sum + ids.length, 0)).toBe(Math.floor(file.length / 8));
  });

  it("with samples that are too short leaves them out and says so", async () => {
    const short = record(9, new DumpWriter().u64(1).u32(7).u32(8).u64(5).u64(1).u64(2).finish());
    const { seen, gaps } = await recordsOf(drawPerfData([short, sample(10, 0x1000)]));
    expect(seen).toHaveLength(1);
    expect(gaps).toEqual(["1 sample is damaged and left out."]);
  });

  it("of other machines or kinds is refused", async () => {
    await expect(recordsOf(new TextEncoder().encode("2ELIFREP"))).rejects.toThrow("little-endian");
    await expect(recordsOf(drawPerfData([]).subarray(0, 50))).rejects.toThrow(FormatError);
  });

  it("whose events say no registers has samples of none, where attributes are read from another place", async () => {
    const damaged = drawPerfData(STORY).slice(0, 576);
    damaged[536] = 0;
    damaged[16] = 81;
    const { seen } = await recordsOf(damaged);
    expect(seen.filter((text) => text.startsWith("sample"))).not.toEqual([]);
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
  it("is that of time, and within one time that of the file", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(5), { maxLength: 3000 }), async (times) => {
        const records = times.map((time, i) => ({ time, ip: 0x1000 + i }));
        const { seen } = await recordsOf(drawPerfData(records.map(({ time, ip }) => sample(time, ip))));
        const sorted = records.toSorted((a, b) => a.time - b.time);
        expect(seen.map((text) => Number(/ip=(\d+)/.exec(text)![1]))).toEqual(sorted.map(({ ip }) => ip));
      }),
      { numRuns: 30 },
    );
  });
});
