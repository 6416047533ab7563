import { openObject } from "../../../code/objects/index.ts";
import { FormatError } from "../../../ground/bytes/errors.ts";
import { Code, type LeftAlone } from "./code.ts";
import { functionsThatAreData } from "./code-as-data.ts";
import { hasAddressOfCodeEnd } from "./code-end.ts";
import { bytesWithoutFrames } from "./code-without-frames.ts";
import { hasTextRelocations } from "./dynamic.ts";
import { emitText } from "./emit.ts";
import { FlowGraph } from "./flow-graph.ts";
import { writeFrames } from "./frames/frames.ts";
import { findLabels } from "./labels.ts";
import { Liveness } from "./liveness.ts";
import { writeOrigins } from "./origins.ts";
import { patchEntries, patchTables, type Unpatched } from "./patch-entries.ts";
import type { PlanBlock } from "./plan.ts";
import { functionsByReturnAddress } from "./return-addresses.ts";
import { writeSectionHeaders } from "./section-headers.ts";
import { FileLayout } from "./write-file.ts";

/** PF_W and PF_X */
const WRITABLE_CODE = 3;

/** A rewritten file, and what is to be said of it. */
export interface Rewritten {
  readonly bytes: Uint8Array;
  readonly functions: number;
  readonly leftAlone: LeftAlone;
  readonly unpatched: Unpatched;
  /** bytes of code that no function of `.eh_frame` has: it runs as it is */
  readonly withoutFrames: number;
  /** bytes of code, old and new */
  readonly oldText: number;
  readonly newText: number;
  /** Of an address of the new code: that of the old one. */
  readonly origins: Uint8Array;
}

/** How a file is rewritten. Without any of it, it runs with every dynamic linker. */
export interface RewriteOptions {
  /** 48 bits that a process finds in the file's program headers, by `PT_REWRITTEN` */
  readonly mark?: number;
  /** bytes of addresses that stay free behind what was there, where a heap may begin */
  readonly heapRoom?: number;
  /** system calls are looked at, which takes what our copy of the dynamic linker maps (`watched-system-calls.ts`). */
  readonly areCallsWatched?: boolean;
}

/**
 * Rewrites an executable or a library: all functions are written anew behind the file, with what `plan` inserts. The old code stays
 * where it is; whoever enters a function there is led to the new one.
 *
 * @throws FormatError `unsupported` for what is no x86-64 ELF file with functions in `.eh_frame`
 */
export function rewriteFile(
  file: Uint8Array,
  plan: PlanBlock,
  { mark = 0, heapRoom = 0, areCallsWatched = false }: RewriteOptions = {},
): Rewritten {
  const object = openObject(file);
  if (object.kind !== "elf" || object.architecture !== "x86_64" || object.addressSize !== 8)
    throw new FormatError("unsupported", 0, "ELF file", "it is not one of x86-64");
  if (hasTextRelocations(object))
    throw new FormatError("unsupported", 0, "ELF file", "the dynamic linker writes into its code");
  if (object.segments.some(({ flags }) => (flags & WRITABLE_CODE) === WRITABLE_CODE))
    throw new FormatError("unsupported", 0, "ELF file", "its code can be written");
  const layout = new FileLayout(file, object, heapRoom);
  const all = new Code(object);
  if (hasAddressOfCodeEnd(all, object))
    throw new FormatError(
      "unsupported",
      0,
      "ELF file",
      "it has the address of its code's end, as for a sum of all its code",
    );
  const fixed = new Set([...functionsByReturnAddress(all, object), ...functionsThatAreData(all, object)]);
  const code = fixed.size === 0 ? all : new Code(object, fixed);
  const labels = findLabels(code, object);
  const graph = new FlowGraph(code, labels);
  const text = emitText(graph, new Liveness(graph), plan, layout.textAddress, areCallsWatched);
  const data = layout.dataAddress(text.bytes.length);
  const framesAddress = layout.framesAddress(data);
  const frames = writeFrames(code, text, layout.textAddress, object, framesAddress);
  const stretch = (address: number, bytes: number) => ({ address, offset: layout.offsetOf(address), bytes });
  const { searchBytes, framesAt } = frames;
  const added = {
    text: stretch(layout.textAddress, text.bytes.length),
    search: stretch(framesAddress, searchBytes),
    frames: stretch(framesAddress + framesAt, frames.bytes.length - framesAt),
  };
  const sectionsAt = layout.sectionsOffset(text.bytes.length, frames.bytes.length);
  const sections = writeSectionHeaders(file, object, code, text, added, sectionsAt);
  const bytes = layout.write({ text: text.bytes, frames: frames.bytes, mark, sections });
  const unpatched = patchEntries(code, text, layout, bytes);
  patchTables(code, text, layout, labels.entries, bytes);
  return {
    bytes,
    functions: code.functions.length,
    leftAlone: code.leftAlone,
    unpatched,
    withoutFrames: bytesWithoutFrames(object, code.stubs, code.base),
    oldText: code.functions.reduce((sum, { start, end }) => sum + end - start, 0),
    newText: text.bytes.length,
    origins: writeOrigins(code, text, layout.textAddress),
  };
}
