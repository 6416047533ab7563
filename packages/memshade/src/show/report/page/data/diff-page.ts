import type { FindingDiff } from "../../../../explain/diff/finding-diff.ts";
import { pairRows } from "../../../../explain/diff/pair-rows.ts";
import { exactKey, type PathKey } from "../../../../explain/diff/path-keys.ts";
import type { Finding } from "../../../../explain/findings/index.ts";
import type { PageData, PageFinding, PageKey, PageWeight } from "./page-data.ts";
import { withContexts } from "./run-page.ts";

/** A side of a comparison. `findings`: the sources of its page's findings, in the same order. */
export interface PageSide {
  readonly page: PageData;
  readonly findings: readonly Finding[];
}

/**
 * Combines two runs of a program to one page. Contexts of both runs are merged if their calls match; each has
 * its values before and after. `pairRows` matches calls across builds. Timelines, blocks and caches are those
 * of the newer run.
 */
export function diffPage(old: PageSide, now: PageSide, changes: FindingDiff): PageData {
  const frames = joinFrames(old.page, now.page);
  const tree = joinTrees(old.page, now.page, frames, changes.renamed);
  const place = (values: Float64Array | undefined, rows: Int32Array): Float64Array => {
    const placed = new Float64Array(tree.parent.length);
    values?.forEach((value, row) => {
      placed[rows[row]!]! += value;
    });
    return placed;
  };
  const ids = [...new Set([...now.page.weights, ...old.page.weights].map(({ id }) => id))];
  const weights = ids.map((id): PageWeight => {
    const [before, after] = [old, now].map(({ page }) => page.weights.find((weight) => weight.id === id));
    return {
      ...(after ?? before!),
      values: place(after?.values, tree.ofNew),
      total: after?.total ?? 0,
      before: place(before?.values, tree.ofOld),
      totalBefore: before?.total ?? 0,
    };
  });
  const fresh = new Set(changes.new);
  const gone = new Set(changes.gone);
  const ofNew = now.page.findings.map((finding, index) => ({
    ...finding,
    contexts: mapped(finding.contexts, tree.ofNew),
    change: fresh.has(now.findings[index]!) ? ("new" as const) : ("kept" as const),
  }));
  const ofOld = old.page.findings.flatMap((finding, index): PageFinding[] => {
    if (!gone.has(old.findings[index]!)) return [];
    const { objects: _, variable: __, via, ...rest } = finding;
    return [
      {
        ...rest,
        path: finding.path.map((frame) => frames.ofOld[frame]!),
        ...(via === undefined ? {} : { via: frames.ofOld[via]! }),
        contexts: mapped(finding.contexts, tree.ofOld),
        objects: [],
        change: "gone",
      },
    ];
  });
  const site = new Int32Array(tree.parent.length).fill(-1);
  for (const [rows, page] of [[tree.ofOld, old.page] as const, [tree.ofNew, now.page] as const])
    page.contexts.site.forEach((at, row) => {
      if (at !== -1) site[rows[row]!] = rows[at]!;
    });
  return {
    ...now.page,
    kind: "diff",
    head: headOfBoth(old.page, now.page),
    strings: frames.strings,
    modules: frames.modules,
    frames: frames.table,
    contexts: { length: tree.parent.length, parent: tree.parent, frame: tree.frame, site },
    throughMerged: undefined,
    weights,
    timelines: now.page.timelines.map(({ deltas, ...timeline }) => ({
      ...timeline,
      ...(deltas === undefined
        ? {}
        : { deltas: { ...deltas, context: mappedInOrder(deltas.context, tree.ofNew) } }),
    })),
    findings: [...ofNew, ...ofOld],
    objects: now.page.objects.map((object) => ({
      ...withContexts(object, tree.ofNew),
      contexts: mapped(object.contexts, tree.ofNew),
    })),
  };
}

function mappedInOrder(rows: Int32Array, to: Int32Array): Int32Array {
  return rows.map((row) => to[row]!);
}

function mapped(rows: Int32Array, to: Int32Array): Int32Array {
  return Int32Array.from(new Set(mappedInOrder(rows, to))).sort();
}

function headOfBoth({ head: old }: PageData, { head: now }: PageData): PageData["head"] {
  const notTracked = [
    ...old.notTracked.map((gap) => (now.notTracked.includes(gap) ? gap : `Old: ${gap}`)),
    ...now.notTracked.filter((gap) => !old.notTracked.includes(gap)).map((gap) => `New: ${gap}`),
  ];
  const keys = now.keys.map((key): PageKey => {
    const before = old.keys.find(({ label }) => label === key.label);
    return before === undefined ? key : { ...key, before: before.value };
  });
  const merged = [old.merged, now.merged].filter((entry) => entry !== undefined);
  return {
    ...now,
    before: { program: old.program },
    keys,
    notTracked,
    ...(merged.length === 0
      ? {}
      : {
          merged: {
            contexts: merged.reduce((sum, entry) => sum + entry.contexts, 0),
            bound: merged[0]!.bound,
          },
        }),
  };
}

interface JoinedFrames {
  readonly strings: readonly string[];
  readonly modules: PageData["modules"];
  readonly table: PageData["frames"];
  /** New index of each of the old page's frames. The new page's frames keep their indices. */
  readonly ofOld: Int32Array;
}

/** Appends the old page's frames to those of the new page. */
function joinFrames(old: PageData, now: PageData): JoinedFrames {
  const strings = [...now.strings];
  const numbers = new Map(strings.map((text, number) => [text, number]));
  const stringOf = (index: number): number => {
    if (index < 0) return index;
    const text = old.strings[index]!;
    const existing = numbers.get(text);
    if (existing !== undefined) return existing;
    numbers.set(text, strings.length);
    return strings.push(text) - 1;
  };
  const modules = [...now.modules];
  const moduleOf = Int32Array.from(old.modules, (module) => {
    const existing = modules.findIndex(
      ({ name, buildId }) => name === module.name && buildId === module.buildId,
    );
    return existing < 0 ? modules.push(module) - 1 : existing;
  });
  const both = <Column extends Int32Array | Float64Array | Uint8Array>(
    first: Column,
    second: Column,
    convert: (value: number) => number = (value) => value,
  ): Column => {
    const joined = new (first.constructor as new (length: number) => Column)(first.length + second.length);
    joined.set(first);
    for (let row = 0; row < second.length; row++) joined[first.length + row] = convert(second[row]!);
    return joined;
  };
  const [a, b] = [now.frames, old.frames];
  return {
    table: {
      length: a.length + b.length,
      function: both(a.function, b.function, stringOf),
      module: both(a.module, b.module, (module) => (module < 0 ? module : moduleOf[module]!)),
      file: both(a.file, b.file, stringOf),
      line: both(a.line, b.line),
      column: both(a.column, b.column),
      address: both(a.address, b.address),
      flags: both(a.flags, b.flags),
      library: both(a.library, b.library, stringOf),
    },
    strings,
    modules,
    ofOld: Int32Array.from({ length: b.length }, (_, frame) => a.length + frame),
  };
}

interface JoinedTree {
  readonly parent: Int32Array;
  readonly frame: Int32Array;
  readonly ofOld: Int32Array;
  readonly ofNew: Int32Array;
}

/** Merges both trees: maps each row of either tree to its row in the merged tree. */
function joinTrees(
  old: PageData,
  now: PageData,
  frames: JoinedFrames,
  renamed: FindingDiff["renamed"],
): JoinedTree {
  const parent: number[] = [];
  const frame: number[] = [];
  const ofOld = new Int32Array(old.contexts.length);
  const ofNew = new Int32Array(now.contexts.length);
  const shared = sharedFrames(old, now, renamed);
  const children = [childrenOf(old), childrenOf(now)] as const;
  // Rows are visited in the order in which they are added, so that parents precede their children.
  const waiting: { row: number; old: readonly number[]; now: readonly number[] }[] = [
    { row: -1, old: [-1], now: [-1] },
  ];
  for (const { row, old: callersBefore, now: callers } of waiting) {
    const before = rowsByFrame(old, callersBefore, children[0], shared.ofOld);
    const after = rowsByFrame(now, callers, children[1], shared.ofNew);
    for (const call of new Set([...after.keys(), ...before.keys()])) {
      const [oldRows, newRows] = [before.get(call) ?? [], after.get(call) ?? []];
      const number = parent.push(row) - 1;
      const [first] = newRows;
      frame.push(
        first === undefined
          ? (shared.inNew.get(call) ?? frames.ofOld[old.contexts.frame[oldRows[0]!]!]!)
          : now.contexts.frame[first]!,
      );
      for (const at of oldRows) ofOld[at] = number;
      for (const at of newRows) ofNew[at] = number;
      waiting.push({ row: number, old: oldRows, now: newRows });
    }
  }
  return { parent: Int32Array.from(parent), frame: Int32Array.from(frame), ofOld, ofNew };
}

/** Groups the rows below some rows by their shared frame number. */
function rowsByFrame(
  { contexts }: PageData,
  callers: readonly number[],
  childrenOf: (row: number) => Int32Array,
  shared: Int32Array,
): Map<number, number[]> {
  const rows = new Map<number, number[]>();
  for (const caller of callers)
    for (const row of childrenOf(caller)) {
      const call = shared[contexts.frame[row]!]!;
      const ofCall = rows.get(call);
      if (ofCall === undefined) rows.set(call, [row]);
      else ofCall.push(row);
    }
  return rows;
}

/**
 * Numbers the frames of both pages. Frames of the same code get the same number, even across builds. `inNew`:
 * the new page's frame of each number, so that a location has one name on every path.
 */
function sharedFrames(
  old: PageData,
  now: PageData,
  renamed: FindingDiff["renamed"],
): { ofOld: Int32Array; ofNew: Int32Array; inNew: ReadonlyMap<number, number> } {
  const before = keyedFrames(old);
  const after = keyedFrames(now);
  const numbers = [new Int32Array(before.keys.length), new Int32Array(after.keys.length)] as const;
  for (const [number, pair] of pairRows([before.keys], [after.keys], renamed).entries()) {
    const [[oldRow], [newRow]] = [pair.old, pair.new];
    if (oldRow !== undefined) numbers[0][oldRow] = number;
    if (newRow !== undefined) numbers[1][newRow] = number;
  }
  const ofNew = after.keyOf.map((key) => numbers[1][key]!);
  const inNew = new Map<number, number>();
  for (const [frame, number] of ofNew.entries()) if (!inNew.has(number)) inNew.set(number, frame);
  return { ofOld: before.keyOf.map((key) => numbers[0][key]!), ofNew, inNew };
}

/** Frames at one location are merged, even if the code has several copies. */
function keyedFrames({ frames, strings }: PageData): { keys: PathKey[]; keyOf: Int32Array } {
  const keys: PathKey[] = [];
  const numbers = new Map<string, number>();
  const keyOf = Int32Array.from({ length: frames.length }, (_, frame) => {
    const file = frames.file[frame]!;
    const key: PathKey = {
      frames: [
        {
          name: strings[frames.function[frame]!]!,
          ...(file < 0 ? {} : { file: strings[file]! }),
          line: frames.line[frame]!,
          column: frames.column[frame]!,
          offset: Math.max(0, frames.address[frame]!),
        },
      ],
      withPlaces: true,
    };
    const text = exactKey(key);
    const existing = numbers.get(text);
    if (existing !== undefined) return existing;
    numbers.set(text, keys.length);
    return keys.push(key) - 1;
  });
  return { keys, keyOf };
}

/** Returns the rows below each row; −1 has the roots. */
function childrenOf({ contexts: { parent, length } }: PageData): (row: number) => Int32Array {
  const offset = new Int32Array(length + 2);
  for (const caller of parent) offset[caller + 2]!++;
  for (let row = 0; row <= length; row++) offset[row + 1]! += offset[row]!;
  const next = offset.slice();
  const rows = new Int32Array(length);
  for (let row = 0; row < length; row++) rows[next[parent[row]! + 1]!++] = row;
  return (row) => rows.subarray(offset[row + 1]!, offset[row + 2]!);
}
