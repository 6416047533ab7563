import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { MemprofFrame } from "../../../../src/profile/model/memprof/index.ts";
import { sharedPath } from "../../../shared-path.ts";

/** Profiles of clang's runtime with LLVM's output for them. `at` gives the path of one of the files. */
export interface Capture {
  readonly name: string;
  readonly raw: string;
  at(suffix: string): string;
}

const OWN = fileURLToPath(new URL("../../../fixtures/memprof/", import.meta.url));
const CASES = ["c-basic", "cpp-inline", "threads", "histogram", "lines", "hint"];

/** Captures with known frames: all if the shared vectors are present, else one. */
export function captures(): Capture[] {
  const shared = sharedPath("fixtures/memprof");
  if (shared === undefined) return [captureOf("c-basic.v5", join(OWN, "c-basic.v5"))];
  return CASES.flatMap((folder) =>
    readdirSync(join(shared, folder))
      .filter((file) => file.endsWith(".pcs.json"))
      .map((file) => basename(file, ".pcs.json"))
      .map((stem) => captureOf(`${folder}/${stem}`, join(shared, folder, stem))),
  );
}

function captureOf(name: string, stem: string): Capture {
  return { name, raw: `${stem}.memprofraw`, at: (suffix) => `${stem}${suffix}` };
}

interface KnownPcs {
  readonly binaryBuildId: string;
  readonly textVaddr: string;
  readonly segmentStart: string;
  readonly segmentEnd: string;
  readonly pcs: readonly { pc: string; address: string; frames: readonly KnownFrame[] }[];
}
interface KnownFrame {
  readonly linkageName: string;
  readonly guid: string;
  readonly file: string;
  readonly line: number;
  readonly lineOffset: number;
  readonly column: number;
  readonly inline: boolean;
}

const RUNTIME_FILES = ["memprof_malloc_linux.cpp", "memprof_interceptors.cpp", "memprof_new_delete.cpp"];

export function knownPcs(capture: Capture): KnownPcs {
  return JSON.parse(readFileSync(capture.at(".pcs.json"), "utf8")) as KnownPcs;
}

function toFrames(frames: readonly KnownFrame[]): MemprofFrame[] {
  if (frames.length > 0 && RUNTIME_FILES.includes(basename(frames[0]!.file))) return [];
  return frames.map(({ guid, lineOffset, column, inline, linkageName, file, line }) => {
    return { guid: BigInt(guid), lineOffset, column, inline, name: linkageName, file, line };
  });
}

export function knownFramesAt(capture: Capture): (pc: bigint) => readonly MemprofFrame[] {
  const frames = new Map(knownPcs(capture).pcs.map((known) => [BigInt(known.pc), toFrames(known.frames)]));
  return (pc) => frames.get(pc) ?? [];
}

export function knownModule(capture: Capture) {
  const { pcs, binaryBuildId, textVaddr, segmentStart, segmentEnd } = knownPcs(capture);
  const frames = new Map(pcs.map((known) => [Number(known.address), toFrames(known.frames)]));
  return {
    key: binaryBuildId,
    start: Number(segmentStart),
    end: Number(segmentEnd),
    shift: Number(textVaddr) - Number(segmentStart),
    framesAt: (address: number) => frames.get(address) ?? [],
  };
}

/** LLVM's output for a capture, if there is such a file. */
export function expectedFile(capture: Capture, suffix: string): Buffer | undefined {
  const path = capture.at(suffix);
  return existsSync(path) ? readFileSync(path) : undefined;
}
