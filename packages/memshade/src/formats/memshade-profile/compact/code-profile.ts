import type { MemprofFrame } from "../../../model/memprof/index.ts";
import type { ProfileOrigin } from "../write.ts";
import { BlockCoder } from "./block-coder.ts";
import { COLUMN } from "./columns.ts";
import type { CompactContext, CompactProfile } from "./compact-profile.ts";
import { FrameCoder } from "./frame-coder.ts";
import type { SymbolCoder } from "./symbol-coder.ts";
import { TEXT, type TextHistory } from "./text-coder.ts";

/**
 * A profile to or from symbols: writers hand it in and get it back, readers get it.
 *
 * @throws TooManySymbols, or FormatError of kind malformed
 */
export function codeProfile(
  coder: SymbolCoder,
  texts: TextHistory,
  given: CompactProfile | undefined,
): CompactProfile {
  const origin = codeOrigin(coder, texts, given?.origin);
  const buildIds = [...origin.binaries.map(({ buildId }) => buildId), ...origin.unmatched];
  const count = coder.number(COLUMN.contexts, 0, 0, given?.contexts.length ?? 0);
  const hasHistograms = coder.number(COLUMN.hasHistograms, 0, 0, given?.hasHistograms === true ? 1 : 0) === 1;
  const frames: MemprofFrame[] = [];
  const stacks = new StackCoder(coder, new FrameCoder(coder, texts, buildIds), frames, given?.frames);
  const paths: (readonly number[])[] = [];
  for (let at = 0; at < count; at++) paths.push(stacks.stack(given?.contexts[at]?.frames));
  const blocks = new BlockCoder(coder);
  const contexts = paths.map((path, at): CompactContext => {
    const context = given?.contexts[at];
    const fields = blocks.fields(context?.fields);
    const histogram = hasHistograms ? blocks.histogram(context?.histogram, fields) : [];
    return { frames: path, fields, histogram };
  });
  return { origin, hasHistograms, frames, contexts };
}

function codeOrigin(coder: SymbolCoder, texts: TextHistory, given: ProfileOrigin | undefined): ProfileOrigin {
  const inputs = coder.number(COLUMN.inputs, 0, 0, given?.inputs ?? 0);
  const binaries: ProfileOrigin["binaries"][number][] = [];
  const binaryCount = coder.number(COLUMN.binaries, 0, 0, given?.binaries.length ?? 0);
  for (let at = 0; at < binaryCount; at++) {
    const binary = given?.binaries[at];
    const buildId = codeBuildId(coder, binary?.buildId ?? "");
    binaries.push({ buildId, name: texts.text(coder, TEXT.binary, binary?.name ?? "") });
  }
  const unmatched: string[] = [];
  const unmatchedCount = coder.number(COLUMN.unmatched, 0, 0, given?.unmatched.length ?? 0);
  for (let at = 0; at < unmatchedCount; at++) unmatched.push(codeBuildId(coder, given?.unmatched[at] ?? ""));
  return { inputs, binaries, unmatched };
}

function codeBuildId(coder: SymbolCoder, given: string): string {
  const length = coder.number(COLUMN.buildIdBytes, 0, 0, given.length / 2);
  let buildId = "";
  for (let at = 0; at < length; at++) {
    const byte = coder.direct(8, Number.parseInt(given.slice(2 * at, 2 * at + 2), 16));
    buildId += byte.toString(16).padStart(2, "0");
  }
  return buildId;
}

/** Codes stacks as what they share with the one before, and the frames that come then. */
class StackCoder {
  private readonly coder: SymbolCoder;
  private readonly frameCoder: FrameCoder;
  private readonly frames: MemprofFrame[];
  private readonly given: readonly MemprofFrame[] | undefined;
  private last: readonly number[] = [];
  private lastLeft = 0;
  private wasNew = 1;

  constructor(
    coder: SymbolCoder,
    frameCoder: FrameCoder,
    frames: MemprofFrame[],
    given: readonly MemprofFrame[] | undefined,
  ) {
    this.coder = coder;
    this.frameCoder = frameCoder;
    this.frames = frames;
    this.given = given;
  }

  stack(given: readonly number[] | undefined): readonly number[] {
    const { coder, last } = this;
    let same = 0;
    if (given !== undefined) while (same < last.length && given[same] === last[same]) same++;
    const left = Math.min(
      last.length,
      coder.number(COLUMN.framesLeft, last.length, this.lastLeft, last.length - same),
    );
    const shared = last.length - left;
    this.lastLeft = left;
    const added = coder.number(COLUMN.framesAdded, shared, last.length, (given?.length ?? 0) - shared);
    const stack = last.slice(0, shared);
    for (let depth = shared; depth < shared + added; depth++) {
      stack.push(this.frame(given?.[depth], stack.at(-1), depth, shared + added - depth));
    }
    this.last = stack;
    return stack;
  }

  private frame(given: number | undefined, caller: number | undefined, depth: number, left: number): number {
    const { coder, frames, wasNew } = this;
    const isNew = coder.number(COLUMN.isNewFrame, wasNew, left, given === frames.length ? 1 : 0);
    this.wasNew = isNew;
    if (isNew === 0 && frames.length > 0) {
      const back = frames.length - 1 - (given ?? 0);
      const place = coder.number(COLUMN.knownFrame, left, (caller ?? -1) + 1, back);
      return Math.max(0, frames.length - 1 - place);
    }
    const place = frames.length;
    frames.push(this.frameCoder.frame(this.given?.[place], caller, depth, left));
    return place;
  }
}
