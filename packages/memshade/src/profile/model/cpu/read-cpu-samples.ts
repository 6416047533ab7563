import { UserError } from "../../../ground/bytes/errors.ts";
import { type Check, count, integer, list, number, oneOf, parseVersioned, record, text } from "../check.ts";
import { CPU_SCHEMA, CPU_VERSION, type CpuSamples, type CpuThread } from "./cpu-samples.ts";

const file: Check<CpuSamples> = record<CpuSamples>({
  schema: oneOf(CPU_SCHEMA),
  version: oneOf(CPU_VERSION),
  hz: number,
  threads: list(record<CpuThread>({ id: count, name: text })),
  stacks: record<CpuSamples["stacks"]>({ caller: list(integer), site: list(count) }),
  samples: record<CpuSamples["samples"]>({
    ms: list(number),
    thread: list(count),
    stack: list(integer),
    periods: list(count),
  }),
  lost: count,
  own: count,
  endedEarly: count,
  notTracked: list(text),
});

/**
 * The samples that the text of a `cpu.json` describes.
 *
 * @throws UserError saying what is wrong in one line, without the file's name
 */
export function readCpuSamples(json: string): CpuSamples {
  const checked = file(
    parseVersioned(json, CPU_SCHEMA, CPU_VERSION, "does not describe samples of a program"),
  );
  const { stacks, samples, threads } = checked;
  const [rows, frames] = [samples.ms.length, stacks.site.length];
  if (Object.values(samples).some((column) => column.length !== rows))
    throw new UserError("samples: the columns have different lengths");
  if (stacks.caller.length !== frames) throw new UserError("stacks: the columns have different lengths");
  if (stacks.caller.some((caller, stack) => caller < -1 || caller >= stack))
    throw new UserError("stacks.caller should be -1 or the number of an earlier stack");
  if (samples.stack.some((stack) => stack < -1 || stack >= frames))
    throw new UserError("samples.stack should be -1 or the number of a stack");
  if (samples.thread.some((thread) => thread >= threads.length))
    throw new UserError("samples.thread should be the number of a thread");
  return checked;
}
