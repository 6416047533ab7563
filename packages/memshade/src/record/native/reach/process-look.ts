import { readFileSync } from "node:fs";
import type { KnownReach } from "../../tools/heap/read/reach/apply-reach.ts";
import type { MemoryFile } from "../collect/memory-file.ts";
import { Header, MAPPING_BYTES, Mapping, Place } from "../layout.ts";
import { findProcessReach, type OwnMemory, type StillProcess } from "./look-through-process.ts";
import { readMappedRanges } from "./mapped-ranges.ts";
import { OpenedProcess, StandingThreads } from "./opened-process.ts";
import { ProcessMemory } from "./process-memory.ts";

/** Facts that hold for all processes of a run. */
export interface ReachFacts {
  own: OwnMemory;
  isForeign: boolean;
}

const UNREADABLE = "the system does not allow reading its memory";
const GONE = "it was ended while its memory was read";

/** Reads one process, whose memory is opened at its beginning. */
export class ProcessLook {
  readonly pid: number;
  readonly #facts: ReachFacts;
  readonly #opened: OpenedProcess | undefined;

  constructor(pid: number, facts: ReachFacts) {
    this.pid = pid;
    this.#facts = facts;
    this.#opened = OpenedProcess.open(pid);
  }

  close(): void {
    this.#opened?.close();
  }

  /** @param other a copy of the process to read instead */
  through(
    memory: MemoryFile,
    still: Pick<StillProcess, "tables" | "stacks" | "running">,
    other: OpenedProcess | undefined = this.#opened,
  ): KnownReach {
    if (other === undefined) return { unknown: UNREADABLE };
    let sign = memory.header(Header.sign);
    const beat = (): void => memory.setHeader(Header.sign, ++sign);
    beat();
    try {
      return findProcessReach({
        ...still,
        pid: this.pid,
        counters: memory.counters,
        memory: new ProcessMemory(other, beat),
        ranges: readMappedRanges(other.maps()),
        mappings: mappingsIn(memory),
        ...this.#facts,
      });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ESRCH") return { unknown: GONE };
      throw error;
    }
  }

  get threads(): number {
    return new StandingThreads(this.pid).now().length;
  }

  /** True if the process has forbidden itself system calls that its starter may make. */
  get isConfined(): boolean {
    return filtersOf("self") !== filtersOf(this.pid);
  }

  /** True if its first thread waits in a system call. */
  get isInCall(): boolean {
    return !fileOf(this.pid, "syscall").startsWith("running");
  }
}

function filtersOf(process: number | "self"): string {
  return [...fileOf(process, "status").matchAll(/^Seccomp.*$/gm)].join("\n");
}

function fileOf(process: number | "self", name: string): string {
  try {
    return readFileSync(`/proc/${process}/${name}`, "latin1");
  } catch {
    return "";
  }
}

function mappingsIn(memory: MemoryFile): Set<number> {
  const bytes = memory.bytes(Place.mappings, memory.header(Header.mappings) * MAPPING_BYTES);
  const count = bytes.length / MAPPING_BYTES;
  return new Set(
    Array.from({ length: count }, (_, i) => Number(bytes.readBigUInt64LE(i * MAPPING_BYTES + Mapping.start))),
  );
}
