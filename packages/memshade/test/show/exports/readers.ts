import { gunzipSync } from "node:zlib";
import { Profile } from "pprof-format";
import type { ExportFormat } from "../../../src/show/exports/export-formats.ts";

/** A stack with its weight, as a reader sees it; frames outermost first, as `name file:line`. */
export interface ReadStack {
  frames: string[];
  weight: number;
}

/** Content of a file: the stacks of each weight, by name. */
export type ReadFile = Record<string, ReadStack[]>;

export function contentOf(pieces: Iterable<string | Uint8Array>): Buffer {
  return Buffer.concat([...pieces].map((piece) => Buffer.from(piece as string)));
}

export function sumsOf(file: ReadFile): Record<string, number> {
  return Object.fromEntries(
    Object.entries(file).map(([name, stacks]) => [name, stacks.reduce((sum, { weight }) => sum + weight, 0)]),
  );
}

/** Content of a file with stacks. Formats without a name for their weight call it `weight`. */
export function readStacks(format: Exclude<ExportFormat, "chrome-trace" | "csv">, content: Buffer): ReadFile {
  switch (format) {
    case "pprof":
      return readPprof(content);
    case "firefox":
      return readFirefox(JSON.parse(content.toString()));
    case "speedscope":
      return readSpeedscope(JSON.parse(content.toString()));
    case "folded":
      return readFolded(content.toString());
    case "dhat":
      return readDhat(JSON.parse(content.toString()));
    case "heapprofile":
      return readHeapProfile(JSON.parse(content.toString()));
  }
}

function placed(name: string, file: string | undefined, line: number | undefined | null): string {
  return file === undefined || file === "" ? name : `${name} ${file}:${line}`;
}

function readPprof(content: Buffer): ReadFile {
  const profile = Profile.decode(gunzipSync(content));
  const text = (index: unknown) => profile.stringTable.strings[Number(index)]!;
  const functions = new Map(profile.function.map((each) => [Number(each.id), each]));
  const locations = new Map(profile.location.map((each) => [Number(each.id), each]));
  const stacks = profile.sample.map(({ locationId, value }) => ({
    frames: locationId
      .flatMap((id) => locations.get(Number(id))!.line)
      .map(({ functionId, line }) => {
        const { name, filename } = functions.get(Number(functionId))!;
        return placed(text(name), text(filename), Number(line));
      })
      .reverse(),
    value: value.map(Number),
  }));
  return Object.fromEntries(
    profile.sampleType.map(({ type }, column) => [
      text(type),
      stacks.map(({ frames, value }) => ({ frames, weight: value[column]! })),
    ]),
  );
}

// biome-ignore lint/suspicious/noExplicitAny: the shape is that of the format, which this reads as its viewer does.
function readFirefox({ shared, threads }: any): ReadFile {
  const { stackTable, frameTable, funcTable, sources, stringArray } = shared;
  const framesOf = (stack: number | null): string[] => {
    if (stack === null) return [];
    const frame = stackTable.frame[stack];
    const func = frameTable.func[frame];
    const source = funcTable.source[func];
    const file = source === null ? undefined : stringArray[sources.filename[source]];
    const offset = stackTable.prefixOffset[stack];
    const own = placed(stringArray[funcTable.name[func]], file, frameTable.line[frame]);
    return [...(offset === 0 ? [] : framesOf(stack - offset)), own];
  };
  return Object.fromEntries(
    threads.map(({ name, samples }: { name: string; samples: Record<string, number[]> }) => [
      name,
      samples.stack!.map((stack, row) => ({ frames: framesOf(stack), weight: samples.weight![row]! })),
    ]),
  );
}

// biome-ignore lint/suspicious/noExplicitAny: as above
function readSpeedscope({ shared, profiles }: any): ReadFile {
  const names: string[] = shared.frames.map(
    ({ name, file, line }: { name: string; file?: string; line?: number }) => placed(name, file, line),
  );
  return Object.fromEntries(
    profiles.map(({ name, samples, weights }: { name: string; samples: number[][]; weights: number[] }) => [
      name,
      samples.map((stack, row) => ({ frames: stack.map((frame) => names[frame]!), weight: weights[row]! })),
    ]),
  );
}

function readFolded(text: string): ReadFile {
  const lines = text.split("\n").filter((line) => line !== "");
  return {
    weight: lines.map((line) => {
      const [, path, weight] = /^(.*) (\d+)$/.exec(line)!;
      return { frames: path!.split(";"), weight: Number(weight) };
    }),
  };
}

/** Reads by the rules of DHAT's viewer; a file that it would refuse fails here. */
// biome-ignore lint/suspicious/noExplicitAny: as above
function readDhat({ dhatFileVersion, bklt, bkacc, pps, ftbl, ...head }: any): ReadFile {
  if (dhatFileVersion !== 2) throw new Error("not version 2");
  for (const name of ["mode", "verb", "cmd", "pid", "te", "tu", "Mtu", ...(bklt ? ["tg", "tuth"] : [])])
    if (!(name in head)) throw new Error(`no ${name}`);
  if (ftbl[0] !== "[root]") throw new Error("the first frame is not [root]");
  const lives = ["tl", "mb", "mbk", "gb", "gbk", "eb", "ebk"];
  const names = ["tb", "tbk", ...(bklt ? lives : []), ...(bkacc ? ["rb", "wb"] : [])];
  const seen = new Set<string>();
  for (const point of pps) {
    if (seen.has(point.fs.join())) throw new Error("a repeated location");
    seen.add(point.fs.join());
    if (point.fs.length === 0 || point.fs.includes(0)) throw new Error("a point at the root");
    for (const name of names)
      if (!Number.isSafeInteger(point[name]) || point[name] < 0) throw new Error(`${name}: ${point[name]}`);
    if (bklt && (point.mb < point.gb || point.mb < point.eb)) throw new Error("a maximum that is none");
  }
  const nameOf = (frame: number): string => {
    const [, name, place] = /^0x[0-9A-F]+: (.*?)(?: \((.+:\d+)(?::\d+)?\))?$/.exec(ftbl[frame])!;
    return place === undefined ? name! : `${name} ${place.replace(/(:\d+):\d+$/, "$1")}`;
  };
  return Object.fromEntries(
    names.map((name) => [
      name,
      pps.map((point: Record<string, number> & { fs: number[] }) => ({
        frames: point.fs.map(nameOf).reverse(),
        weight: point[name]!,
      })),
    ]),
  );
}

interface HeapProfileNode {
  callFrame: { functionName: string; url: string; lineNumber: number };
  selfSize: number;
  id: number;
  children: HeapProfileNode[];
}

function readHeapProfile({
  head,
  samples,
}: {
  head: HeapProfileNode;
  samples: { size: number; nodeId: number; ordinal: number }[];
}): ReadFile {
  const stacks: ReadStack[] = [];
  const sizes = new Map<number, number>();
  const visit = (node: HeapProfileNode, path: string[]): void => {
    if (sizes.has(node.id)) throw new Error("an id twice");
    sizes.set(node.id, node.selfSize);
    if (node.selfSize > 0) stacks.push({ frames: path, weight: node.selfSize });
    for (const child of node.children) {
      const { functionName, url, lineNumber } = child.callFrame;
      visit(child, [...path, placed(functionName, url, lineNumber + 1)]);
    }
  };
  visit(head, []);
  for (const { nodeId, size } of samples)
    if (sizes.get(nodeId) !== size) throw new Error("a sample that is not its node's");
  if (samples.length !== stacks.length) throw new Error("samples are missing");
  return { weight: stacks };
}
