import { DumpWriter } from "./dump-pictures.ts";

const IP_TID_TIME = 1 | 2 | 4;
const PERIOD = 0x100;
const USER = 0x1000 | 0x2000;
const SAMPLE_TYPE = IP_TID_TIME | PERIOD | USER;

/** `perf_event_attr` of a clock that copies two registers (bp, sp) and the stack, by default. */
const drawAttribute = (sampleType: number) =>
  new DumpWriter()
    .u32(1)
    .u32(128)
    .u64(0)
    .to(24)
    .u64(sampleType)
    .to(40)
    .u64(1 << 18)
    .to(80)
    .u64((sampleType & USER) === 0 ? 0 : 0b1100_0000)
    .u32(4096)
    .to(128)
    .finish();

export function record(type: number, body: Uint8Array, misc = 0): Uint8Array {
  const size = Math.ceil((8 + body.length) / 8) * 8;
  return new DumpWriter().u32(type).u16(misc).u16(size).bytes(body).to(size).finish();
}

const PID = 7;
const TID = 8;

/** Sample id behind records that are no samples: pid, tid, time. */
const sampleId = (time: number, pid = PID) => new DumpWriter().u32(pid).u32(TID).u64(time).finish();
const padded = (text: string) => text + "\0".repeat(8 - (text.length % 8));

export const comm = (time: number, name: string, { pid = PID, isExec = false } = {}) =>
  record(
    3,
    new DumpWriter().u32(pid).u32(TID).text(padded(name)).bytes(sampleId(time, pid)).finish(),
    isExec ? 1 << 13 : 0,
  );
export const fork = (time: number, pid: number, parentPid: number) =>
  record(
    7,
    new DumpWriter().u32(pid).u32(parentPid).u32(TID).u32(TID).u64(time).bytes(sampleId(time, pid)).finish(),
  );
export const mmap2 = (
  time: number,
  start: number,
  path: string,
  { pid = PID, length = 0x1000, fileOffset = 0x2000 } = {},
) =>
  record(
    10,
    new DumpWriter()
      .u32(pid)
      .u32(TID)
      .u64(start)
      .u64(length)
      .u64(fileOffset)
      .zeros(24)
      .u32(5)
      .u32(2)
      .text(padded(path))
      .bytes(sampleId(time, pid))
      .finish(),
  );
export const sample = (time: number, ip: number, stack = "") => {
  const content = padded(stack);
  const body = new DumpWriter().u64(ip).u32(7).u32(8).u64(time).u64(99).u64(2).u64(0xb0).u64(0x50);
  return record(9, body.u64(content.length).text(content).u64(stack.length).finish());
};
export const finishedRound = record(68, new Uint8Array(0));

export const chainSample = (time: number, ip: number, chain: readonly bigint[], pid = PID) => {
  const words = new Uint8Array(new BigUint64Array(chain.map((word) => BigInt.asUintN(64, word))).buffer);
  return record(
    9,
    new DumpWriter().u64(ip).u32(pid).u32(TID).u64(time).u64(chain.length).bytes(words).finish(),
  );
};
export const CALL_CHAIN_SAMPLES = IP_TID_TIME | 0x20;

/** A file with one event and these records; a pipe has its attribute among the records. */
export function drawPerfData(
  records: readonly Uint8Array[],
  isPipe = false,
  sampleType = SAMPLE_TYPE,
): Uint8Array {
  const attribute = drawAttribute(sampleType);
  const data = new DumpWriter();
  if (isPipe) {
    data
      .text("PERFILE2")
      .u64(16)
      .bytes(record(64, new DumpWriter().bytes(attribute).u64(1).finish()));
    for (const one of records) data.bytes(one);
    return data.finish();
  }
  for (const one of records) data.bytes(one);
  const content = data.finish();
  const attrs = 104;
  const start = attrs + attribute.length + 16;
  const features = start + content.length + 16;
  const command = new DumpWriter().u32(2).u32(8).text(padded("perf")).u32(8).text(padded("record")).finish();
  return new DumpWriter()
    .text("PERFILE2")
    .u64(104)
    .u64(attribute.length + 16)
    .u64(attrs)
    .u64(attribute.length + 16)
    .u64(start)
    .u64(content.length)
    .u64(0)
    .u64(0)
    .u64(1 << 11)
    .to(attrs)
    .bytes(attribute)
    .u64(0)
    .u64(0)
    .bytes(content)
    .u64(features)
    .u64(command.length)
    .bytes(command)
    .finish();
}
