import { bytesOfBase64 } from "../../../ground/bytes/base64.ts";
import { PERF_RECORDS_BASE64 } from "./assembly.generated.ts";
import { RECORD_HEADER_BYTES, SampleBit } from "./layout.ts";
import type { PerfEvent, PerfHeader, PerfSample } from "./types.ts";
import { getU64 } from "./words.ts";

/** What `assembly/` exports. Addresses are those in its memory. */
export interface PerfRecordsWasm {
  readonly memory: WebAssembly.Memory;
  readonly SAMPLE: WebAssembly.Global<"i32">;
  readonly events: WebAssembly.Global<"i32">;
  readonly ids: WebAssembly.Global<"i32">;
  readonly piece: WebAssembly.Global<"i32">;
  readonly position: WebAssembly.Global<"i32">;
  readonly end: WebAssembly.Global<"i32">;
  allocate(bytes: number): number;
  takePiece(bytes: number): number;
  pieceAddress(piece: number): number;
  enter(piece: number, from: number, to: number): void;
  resume(piece: number, from: number, to: number): void;
  leave(piece: number): void;
  next(): number;
  finish(): void;
  decode(record: number): number;
  beginEvents(count: number, ids: number): void;
  setPlaces(id: number, time: number, timeFromEnd: number): void;
}

/** Bits of what a sample has. */
const HAS = { registers: 4, stack: 8 } as const;

let compiled: WebAssembly.Module | undefined;

/** The records of one file, in a memory that WebAssembly looks at. */
export class PerfRecords {
  readonly wasm: PerfRecordsWasm;
  #view: DataView;

  constructor() {
    compiled ??= new WebAssembly.Module(bytesOfBase64(PERF_RECORDS_BASE64));
    this.wasm = new WebAssembly.Instance(compiled).exports as unknown as PerfRecordsWasm;
    this.#view = new DataView(this.wasm.memory.buffer);
  }

  /** The memory as it is now: it moves when it grows. */
  get view(): DataView {
    const { buffer } = this.wasm.memory;
    if (this.#view.buffer !== buffer) this.#view = new DataView(buffer);
    return this.#view;
  }

  /** Tells what the header says of events. They agree in what stands at the end of other records. */
  setEvents({ events }: PerfHeader): void {
    const { wasm } = this;
    const all = events.flatMap(({ ids }, event) => ids.map((id) => ({ id: BigInt(`0x${id}`), event })));
    wasm.beginEvents(events.length, all.length);
    const { view } = this;
    for (const [index, { sampleType, readFormat, branchSampleType, userRegisters }] of events.entries()) {
      const [low, high] = userRegisters;
      const fields = [sampleType, readFormat, branchSampleType, bitCount(low) + bitCount(high)];
      for (const [field, value] of fields.entries())
        view.setUint32(wasm.events.value + 16 * index + 4 * field, value, true);
    }
    for (const [index, { id, event }] of all.entries()) {
      view.setBigUint64(wasm.ids.value + 16 * index, id, true);
      view.setUint32(wasm.ids.value + 16 * index + 8, event, true);
    }
    const [first] = events;
    if (first !== undefined) wasm.setPlaces(...placesIn(first));
  }

  /** The sample that was decoded last. Its arrays are views of the memory. */
  sample(): PerfSample {
    const { view } = this;
    const at = this.wasm.SAMPLE.value;
    const has = view.getUint32(at + 20, true);
    const stackAt = view.getUint32(at + 72, true);
    return {
      kind: "sample",
      event: view.getUint32(at + 8, true),
      pid: view.getInt32(at + 12, true),
      tid: view.getInt32(at + 16, true),
      time: getU64(view, at + 24),
      period: getU64(view, at + 32),
      ip: getU64(view, at + 40),
      registers:
        (has & HAS.registers) === 0
          ? undefined
          : new DataView(view.buffer, view.getUint32(at + 64, true), 8 * view.getUint32(at + 68, true)),
      stack:
        (has & HAS.stack) === 0
          ? undefined
          : new Uint8Array(view.buffer, stackAt, view.getUint32(at + 76, true)),
      // Stands in front of the stack in the record.
      stackRoom: (has & HAS.stack) === 0 ? 0 : getU64(view, stackAt - 8),
    };
  }
}

/** Where the id and the time stand in a sample, and the time in other records, from their end; 0 for nowhere. */
function placesIn({ sampleType, hasSampleIds }: PerfEvent): [id: number, time: number, timeFromEnd: number] {
  const { Identifier, Ip, Tid, Time, Address, Id, StreamId, Cpu } = SampleBit;
  const has = (bit: number) => (sampleType & bit) !== 0;
  const behind = (bits: readonly number[]) => RECORD_HEADER_BYTES + 8 * bits.filter(has).length;
  const idAt = has(Identifier)
    ? RECORD_HEADER_BYTES
    : has(Id)
      ? behind([Identifier, Ip, Tid, Time, Address])
      : 0;
  const timeAt = has(Time) ? behind([Identifier, Ip, Tid]) : 0;
  const timeFromEnd =
    hasSampleIds && has(Time) ? 8 * [Time, Id, StreamId, Cpu, Identifier].filter(has).length : 0;
  return [idAt, timeAt, timeFromEnd];
}

function bitCount(word: number): number {
  let count = 0;
  for (let rest = word; rest !== 0; rest &= rest - 1) count++;
  return count;
}
