import { CONTEXT_BYTES, Context, Control, LIVE_BLOCK_BITS } from "../../tools/heap/layout.ts";
import type { InstrumentedInfo, ShadowLayout } from "../../tools/options.ts";
import { replaceClass } from "./replace-property.ts";

/**
 * Separates blocks that the program frees from blocks that it leaves to JavaScript's garbage collector. Glue code frees the
 * latter in the callback of a `FinalizationRegistry`. All due callbacks run one after the other, with no other code between
 * them. So blocks that end between the first callback and the next microtask are freed by callbacks. Each context's sums are
 * read at both moments, so a release itself costs nothing more.
 */

type FinalizerScope = { FinalizationRegistry?: typeof FinalizationRegistry };

interface Tables {
  readonly memory: WeakRef<WebAssembly.Memory>;
  readonly layout: ShadowLayout;
}

/** Sums of ended blocks per context of some tables, at one moment. */
interface Snapshot extends Tables {
  readonly freed: BigUint64Array;
  readonly lifetimes: BigUint64Array;
}

/** Tables of this thread's instances. */
const watched = new Set<Tables>();
let open: Snapshot[] | undefined;

/** Observes the callbacks of all registries that are made from now on. */
export function hookFinalizers(scope: FinalizerScope): void {
  const Registry = scope.FinalizationRegistry;
  if (Registry === undefined) return;
  replaceClass(scope, "FinalizationRegistry", ([callback]) =>
    typeof callback === "function" ? new Registry(observed(callback as Callback)) : undefined,
  );
}

type Callback = (held: unknown) => unknown;

function observed(callback: Callback): Callback {
  return (held) => {
    begin();
    return callback(held);
  };
}

/**
 * Starts to count the collected blocks of an instance. Tables that threads share are left out: other threads free blocks
 * meanwhile.
 */
export function watchFinalizers(
  memory: WebAssembly.Memory,
  { layout, acrossThreads }: Pick<InstrumentedInfo, "layout" | "acrossThreads">,
): void {
  if (layout !== undefined && acrossThreads !== true) watched.add({ memory: new WeakRef(memory), layout });
}

/** Records the blocks that callbacks have freed so far. Call it before the tables are read. */
export function settleFinalizers(): void {
  const snapshots = open ?? [];
  open = undefined;
  for (const snapshot of snapshots) {
    const memory = snapshot.memory.deref();
    if (memory !== undefined) addCollected(new DataView(memory.buffer), snapshot);
  }
}

function begin(): void {
  if (open !== undefined) return;
  open = [];
  for (const tables of watched) {
    const memory = tables.memory.deref();
    if (memory === undefined) watched.delete(tables);
    else open.push(snapshotOf(new DataView(memory.buffer), tables));
  }
  void Promise.resolve().then(settleFinalizers);
}

function snapshotOf(view: DataView, tables: Tables): Snapshot {
  const { control, mibs } = tables.layout;
  const length = view.getUint32(control + Control.mibNext, true) + 1;
  const freed = new BigUint64Array(length);
  const lifetimes = new BigUint64Array(length);
  for (let index = 0, at = mibs; index < length; index++, at += CONTEXT_BYTES) {
    freed[index] = view.getBigUint64(at + Context.freed, true);
    lifetimes[index] = view.getBigUint64(at + Context.totalLifetime, true);
  }
  return { ...tables, freed, lifetimes };
}

function addCollected(view: DataView, { layout, freed, lifetimes }: Snapshot): void {
  for (let index = 0, at = layout.mibs; index < freed.length; index++, at += CONTEXT_BYTES) {
    const ended = BigInt.asUintN(64, view.getBigUint64(at + Context.freed, true) - freed[index]!);
    if (ended === 0n) continue;
    const lifetime = view.getBigUint64(at + Context.totalLifetime, true) - lifetimes[index]!;
    // Ended blocks were forgotten meanwhile.
    if (lifetime < 0n) continue;
    const blocks = Number(BigInt.asUintN(LIVE_BLOCK_BITS, ended));
    addTo64(view, at + Context.collectedBytes, ended >> BigInt(LIVE_BLOCK_BITS));
    addTo64(view, at + Context.collectedLifetime, lifetime);
    const known = view.getUint32(at + Context.collectedBlocks, true);
    view.setUint32(at + Context.collectedBlocks, known + blocks, true);
  }
}

function addTo64(view: DataView, at: number, amount: bigint): void {
  view.setBigUint64(at, view.getBigUint64(at, true) + amount, true);
}
