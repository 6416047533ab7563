import type {
  DeadstoresFile,
  DeadstoresIp,
  LoadRecord,
  StoreRecord,
} from "../../../../profile/formats/deadstores/types.ts";
import { printable } from "../common/text.ts";

/**
 * What the printer of the Valgrind tool deadstores prints: the most dead stores, silent stores and silent loads,
 * `rows` of each at most, records without any left out.
 */
export function printDeadstores({ command, stores, loads }: DeadstoresFile, rows: number): string {
  // Sorting is stable, so that silent stores of equal number stand in the order of their dead bytes.
  const byDead = stores.toSorted((one, other) => deadBytes(other) - deadBytes(one));
  const bySilence = byDead.toSorted((one, other) => other.nof_silent - one.nof_silent);
  const silentLoads = loads.toSorted((one, other) => other.nof_silent - one.nof_silent);
  const sections = [
    section(
      "Dead stores",
      byDead.slice(0, rows).filter((store) => deadBytes(store) !== 0),
      storeLines,
    ),
    section(
      "Silent stores",
      bySilence.slice(0, rows).filter((store) => store.nof_silent !== 0),
      storeLines,
    ),
    section(
      "Silent loads",
      silentLoads.slice(0, rows).filter((load) => load.nof_silent !== 0),
      loadLines,
    ),
  ];
  return `Command: ${printable(command)}\n\n${sections.join("\n\n")}`;
}

function section<T>(title: string, records: readonly T[], linesOf: (record: T) => string[]): string {
  const entries = records.map((record) =>
    linesOf(record)
      .map((line) => `${line}\n`)
      .join(""),
  );
  return `${title}\n${"-".repeat(title.length)}\n${entries.join("\n")}`;
}

function deadBytes(store: StoreRecord): number {
  return store.bytes_written - store.bytes_read;
}

function storeLines(store: StoreRecord): string[] {
  return [
    `${address(store.ips[0]!)}:`,
    counter("bytes_written", store.bytes_written),
    counter("bytes_read", store.bytes_read),
    counter("bytes_dead", deadBytes(store)),
    counter("nof_stores", store.nof_stores),
    counter("nof_silent", store.nof_silent),
    ...stackLines(store.ips),
  ];
}

function loadLines(load: LoadRecord): string[] {
  return [
    `${address(load.ips[0]!)}:`,
    counter("nof_loads", load.nof_loads),
    counter("nof_silent", load.nof_silent),
    ...stackLines(load.ips),
  ];
}

function counter(name: string, value: number): string {
  return `  ${`${name}:`.padEnd(14)} ${String(value).padStart(8)}`;
}

function stackLines(ips: readonly DeadstoresIp[]): string[] {
  return ips.map((ip, depth) => {
    const { function: name = "???", file, line } = ip;
    const place = file === undefined ? "" : ` (in ${file}:${line ?? 0})`;
    return `    ${depth === 0 ? "at" : "by"} ${address(ip)}: ${printable(`${name}${place}`)}`;
  });
}

function address(ip: DeadstoresIp): string {
  return `0x${ip.address.toString(16).padStart(8, "0")}`;
}
