import type { WasmModule } from "../../../code/wasm/index.ts";
import type { ModuleScan } from "../../rewrite/facts/module-scan.ts";

/*
 * dlmalloc keeps its bins, maps and bounds in one static structure. The constant addresses of that structure are shared
 * by its functions, and by no others.
 */

export function addressesOf(module: WasmModule, scan: ModuleScan, index: number): Set<number> {
  const addresses = new Set<number>();
  const defined = index - module.importedFunctionCount;
  if (defined < 0 || defined >= scan.facts.length) return addresses;
  for (let i = scan.firstAddress[defined]; i < scan.firstAddress[defined + 1]; i++)
    addresses.add(scan.addresses[i] >>> 0);
  return addresses;
}

export function countShared(
  module: WasmModule,
  scan: ModuleScan,
  index: number,
  wanted: ReadonlySet<number>,
): number {
  let count = 0;
  for (const address of addressesOf(module, scan, index)) if (wanted.has(address)) count++;
  return count;
}

export function countUsers(scan: ModuleScan, wanted: Iterable<number>): Map<number, number> {
  const users = new Map<number, number>();
  // Few addresses of a module are wanted; one bit of a hash excludes most others.
  const filter = new Uint8Array(0x10000);
  for (const address of wanted) {
    users.set(address, 0);
    filter[hash(address)] = 1;
  }
  const lastUser = new Map<number, number>();
  const { addresses, firstAddress } = scan;
  for (let defined = 0; defined < scan.facts.length; defined++)
    for (let i = firstAddress[defined]; i < firstAddress[defined + 1]; i++) {
      const address = addresses[i] >>> 0;
      if (filter[hash(address)] === 0) continue;
      const count = users.get(address);
      if (count === undefined || lastUser.get(address) === defined) continue;
      lastUser.set(address, defined);
      users.set(address, count + 1);
    }
  return users;
}

function hash(address: number): number {
  return (address ^ (address >>> 16)) & 0xffff;
}
