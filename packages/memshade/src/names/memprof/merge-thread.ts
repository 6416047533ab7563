import { parentPort, workerData } from "node:worker_threads";
import { UserError } from "../../ground/bytes/errors.ts";
import { MIB_FIELDS } from "../../profile/model/mib-fields.ts";
import { InputMerger, type MergedPart } from "./input-merger.ts";
import type { MergeReply, MergeTask, MergeThreadData } from "./merge-messages.ts";

// Thread that merges the inputs it receives. It sends the result on request, or when it has become large.

const { places, tags, keepsSources, keepsUnresolved, mostBytes } = workerData as MergeThreadData;
const fields = MIB_FIELDS.filter(({ tag }) => tags.includes(tag));
const merger = new InputMerger(places, { fields, keepsSources, keepsUnresolved });

parentPort!.on("message", async ({ inputs }: MergeTask) => {
  const bad: { number: number; message: string }[] = [];
  for (const { input, number } of inputs)
    try {
      await merger.add(input, number);
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      bad.push({ number, message: error.message });
    }
  const part = inputs.length === 0 || merger.sizeBytes > mostBytes ? merger.take() : undefined;
  const reply: MergeReply = { done: inputs.length, bad, part };
  parentPort!.postMessage(reply, part === undefined ? [] : buffersOf(part));
});

/** Buffers of the tables, which are transferred instead of copied. */
function buffersOf({ profile, lastInput }: MergedPart): ArrayBuffer[] {
  const { frames, stacks, blocks, records } = profile;
  const { guid, lineOffset, column, inline } = frames;
  const arrays = [
    guid,
    lineOffset,
    column,
    inline,
    stacks.parent,
    stacks.frame,
    lastInput,
    ...blocks.columns,
    records.guid,
    records.allocStart,
    records.allocStack,
    records.allocBlock,
    records.callStart,
    records.callStack,
  ];
  return [...new Set(arrays.map(({ buffer }) => buffer as ArrayBuffer))];
}
