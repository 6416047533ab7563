import type { PerfRecords } from "../../formats/perf-data/index.ts";
import type { MappedModule } from "./native-file.ts";
import type { PerfProcess } from "./perf-processes.ts";
import type { SamplesWasm } from "./samples-wasm.ts";

const MAPPING_BYTES = 32;
const FEWEST_MAPPINGS = 32;

/** What WebAssembly knows of processes: `assembly/places.ts` has the layout. */
export class ProcessMemory {
  readonly #records: PerfRecords;
  readonly #wasm: SamplesWasm;
  readonly #blockBytes: number;
  /** Room of processes that are gone, by the number of mappings that it is for. */
  readonly #free = new Map<number, number[]>();
  #epochs = 0;

  constructor(records: PerfRecords, wasm: SamplesWasm) {
    this.#records = records;
    this.#wasm = wasm;
    this.#blockBytes = 4 * wasm.BLOCK_WORDS.value;
  }

  /** Writes what is mapped in a process, if that has changed. */
  write(process: PerfProcess, numberOf: (module: MappedModule) => number): void {
    if (!process.hasChanged) return;
    process.hasChanged = false;
    const { all } = process.modules;
    if (process.address === 0 || all.length > process.capacity) this.#move(process, all.length);
    if (process.epoch === 0) process.epoch = ++this.#epochs;
    const { view } = this.#records;
    let at = process.address + this.#blockBytes;
    for (const module of all) {
      setAddress(view, at, module.start);
      setAddress(view, at + 8, module.end);
      view.setBigInt64(at + 16, BigInt(module.shownOffset), true);
      view.setUint32(at + 24, numberOf(module), true);
      at += MAPPING_BYTES;
    }
  }

  /** Something was mapped in a range of addresses. */
  change(pid: number, process: PerfProcess, start: number, end: number): void {
    this.#wasm.forgetProcess(pid);
    process.hasChanged = true;
    if (process.address === 0 || this.#wasm.hasPlaces(process.address, start, end) === 0) return;
    process.epoch = ++this.#epochs;
    this.#clearBlocks(process);
  }

  /** A process is gone. */
  free(pid: number, process: PerfProcess): void {
    this.#wasm.forgetProcess(pid);
    if (process.address === 0) return;
    const free = this.#free.get(process.capacity);
    if (free === undefined) this.#free.set(process.capacity, [process.address]);
    else free.push(process.address);
    process.address = 0;
  }

  #move(process: PerfProcess, mappings: number): void {
    let capacity = FEWEST_MAPPINGS;
    while (capacity < mappings) capacity *= 2;
    const bytes = this.#blockBytes + capacity * MAPPING_BYTES;
    const address = this.#free.get(capacity)?.pop() ?? this.#records.wasm.allocate(bytes);
    const old = process.address;
    const memory = new Uint8Array(this.#records.view.buffer);
    if (old !== 0) {
      memory.copyWithin(address, old, old + this.#blockBytes);
      this.#free.set(process.capacity, [...(this.#free.get(process.capacity) ?? []), old]);
    }
    process.address = address;
    process.capacity = capacity;
    if (old === 0) this.#clearBlocks(process);
  }

  #clearBlocks({ address }: PerfProcess): void {
    new Uint8Array(this.#records.view.buffer, address, this.#blockBytes).fill(0);
  }
}

function setAddress(view: DataView, at: number, address: number): void {
  view.setUint32(at, address % 2 ** 32, true);
  view.setUint32(at + 4, address / 2 ** 32, true);
}
