import { BRANCH_HW_INDEX, RECORD_HEADER_BYTES, ReadBit, SampleBit } from "./layout.ts";
import type { PerfEvent, PerfHeader, PerfSample } from "./types.ts";
import { getId, getU64 } from "./words.ts";

/** Decodes samples. */
export class SampleDecoder {
  readonly #events: readonly PerfEvent[];
  readonly #eventOfId = new Map<string, number>();
  readonly #hasIdentifier: boolean;
  /** Where the id stands in samples of files without an identifier in front; all events agree then. −1: nowhere. */
  readonly #idAt: number;
  /** Where the time stands, which has the same place in all samples of a file. −1: nowhere. */
  readonly #timeAt: number;

  constructor({ events }: PerfHeader) {
    this.#events = events;
    events.forEach(({ ids }, index) => {
      for (const id of ids) this.#eventOfId.set(id, index);
    });
    const type = events[0]?.sampleType ?? 0;
    this.#hasIdentifier = (type & SampleBit.Identifier) !== 0;
    const { Identifier, Ip, Tid, Time, Address, Id } = SampleBit;
    const placeOf = (bit: number, before: readonly number[]) =>
      type & bit ? RECORD_HEADER_BYTES + 8 * before.filter((one) => type & one).length : -1;
    this.#idAt = placeOf(Id, [Identifier, Ip, Tid, Time, Address]);
    this.#timeAt = placeOf(Time, [Identifier, Ip, Tid]);
  }

  /** When the sample of `size` bytes at `offset` was taken, in nanoseconds; undefined if it does not say. */
  time(view: DataView, offset: number, size: number): number | undefined {
    const at = this.#timeAt;
    return at < 0 || at + 8 > size ? undefined : getU64(view, offset + at);
  }

  #eventOf(record: DataView): number {
    if (this.#events.length < 2) return 0;
    const at = this.#hasIdentifier ? RECORD_HEADER_BYTES : this.#idAt;
    if (at < 0 || at + 8 > record.byteLength) return 0;
    return this.#eventOfId.get(getId(record, at)) ?? 0;
  }

  /** @throws RangeError if a field reaches beyond the record */
  decode(record: DataView): PerfSample {
    const event = this.#eventOf(record);
    const { sampleType, readFormat, branchSampleType, userRegisters } = this.#events[event]!;
    const has = (bit: number) => (sampleType & bit) !== 0;
    let at = RECORD_HEADER_BYTES;
    const word = () => {
      at += 8;
      return getU64(record, at - 8);
    };
    const words = (count: number) => {
      const view = new DataView(record.buffer, record.byteOffset + at, within(record, at, count * 8));
      at += count * 8;
      return view;
    };
    if (has(SampleBit.Identifier)) at += 8;
    const ip = has(SampleBit.Ip) ? word() : 0;
    const pid = has(SampleBit.Tid) ? record.getInt32(at, true) : -1;
    const tid = has(SampleBit.Tid) ? record.getInt32(at + 4, true) : -1;
    if (has(SampleBit.Tid)) at += 8;
    const time = has(SampleBit.Time) ? word() : 0;
    if (has(SampleBit.Address)) at += 8;
    if (has(SampleBit.Id)) at += 8;
    if (has(SampleBit.StreamId)) at += 8;
    const cpu = has(SampleBit.Cpu) ? record.getUint32(at, true) : undefined;
    if (cpu !== undefined) at += 8;
    const period = has(SampleBit.Period) ? word() : 1;
    if (has(SampleBit.Read)) at += readBytes(record, at, readFormat);
    const callChain = has(SampleBit.CallChain) ? words(word()) : undefined;
    if (has(SampleBit.Raw)) at += 4 + record.getUint32(at, true);
    if (has(SampleBit.BranchStack)) {
      const count = word();
      at += (branchSampleType & BRANCH_HW_INDEX ? 8 : 0) + count * 24;
    }
    const registerAbi = has(SampleBit.UserRegisters) ? word() : 0;
    const registers =
      registerAbi === 0 ? undefined : words(bitCount(userRegisters[0]) + bitCount(userRegisters[1]));
    const stack = has(SampleBit.UserStack) ? stackAt(record, at) : undefined;
    return {
      kind: "sample",
      event,
      pid,
      tid,
      time,
      cpu,
      period,
      ip,
      callChain,
      registerAbi,
      registers,
      stack,
    };
  }
}

/** Size, the copied bytes, and how many of them are valid; nothing behind a size of 0. */
function stackAt(record: DataView, at: number): Uint8Array {
  const size = getU64(record, at);
  if (size === 0) return new Uint8Array(0);
  within(record, at + 8, size + 8);
  const valid = Math.min(size, getU64(record, at + 8 + size));
  return new Uint8Array(record.buffer, record.byteOffset + at + 8, valid);
}

/** Bytes of the counter values in a sample. */
function readBytes(record: DataView, at: number, format: number): number {
  const perValue = 8 * (1 + (format & ReadBit.Id ? 1 : 0) + (format & ReadBit.Lost ? 1 : 0));
  const times = 8 * ((format & ReadBit.Enabled ? 1 : 0) + (format & ReadBit.Running ? 1 : 0));
  return format & ReadBit.Group ? 8 + times + getU64(record, at) * perValue : times + perValue;
}

/** `length`, if that many bytes are left in the record. */
function within(record: DataView, at: number, length: number): number {
  if (!(at + length <= record.byteLength)) throw new RangeError("the field reaches beyond the record");
  return length;
}

function bitCount(word: number): number {
  let count = 0;
  for (let rest = word; rest !== 0; rest &= rest - 1) count++;
  return count;
}
