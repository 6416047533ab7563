import { type Bound, boundsMember } from "../../profile/model/bound.ts";
import { RUN_SCHEMA, RUN_VERSION, type Run } from "../../profile/model/run.ts";
import { MEMSHADE_VERSION } from "../../profile/model/version.ts";

/** A file of a profile, by its name in the run folder. */
export interface ProfileFile {
  name: string;
  contents: string | Uint8Array;
}

/** A file of a run, with its member of `files`. */
export interface RunPartFile extends ProfileFile {
  readonly member: keyof Run["files"];
}

export interface RunPart {
  readonly tools: Run["tools"];
  readonly heap?: Pick<Run, "heap" | "host"> | undefined;
  readonly files: readonly RunPartFile[];
  /** Bytes of shadow memory and tables that were touched. */
  readonly shadowBytes: number;
  readonly bounds: readonly Bound[];
}

/** Parts of a run that do not depend on its tools. */
export type RunBase = Pick<
  Run,
  "command" | "program" | "end" | "modules" | "children" | "notTracked" | "bounds"
> & {
  /** Bytes of rewritten modules. */
  readonly rewrittenBytes: number;
  /** Limit of memory for recording, bytes. */
  readonly memoryLimit?: number | undefined;
};

/** Builds the description of a run, `run.json`, from the results of its tools. */
export function assembleRun(base: RunBase, parts: readonly RunPart[]): Run {
  const files = parts.flatMap((part) => part.files);
  const heap = parts.find((part) => part.heap !== undefined)?.heap;
  const sum = (amounts: readonly number[]): number => amounts.reduce((total, amount) => total + amount, 0);
  return {
    schema: RUN_SCHEMA,
    version: RUN_VERSION,
    memshade: MEMSHADE_VERSION,
    command: [...base.command],
    program: base.program,
    tools: Object.assign({}, ...parts.map(({ tools }) => tools)),
    end: base.end,
    modules: base.modules,
    ...heap,
    ...(base.children === undefined ? {} : { children: [...base.children] }),
    notTracked: [...base.notTracked],
    ...boundsMember([...parts.flatMap(({ bounds }) => bounds), ...(base.bounds ?? [])]),
    presence: {
      modules: base.rewrittenBytes,
      shadow: Math.ceil(sum(parts.map(({ shadowBytes }) => shadowBytes))),
      recorded: sum(files.map(({ contents }) => contents.length)),
      limit: base.memoryLimit,
    },
    files: Object.fromEntries(files.map(({ member, name }) => [member, name])),
  };
}

/** Returns the files of parts, without their members of `run.json`. */
export function filesOfParts(parts: readonly RunPart[]): ProfileFile[] {
  return parts.flatMap(({ files }) => files.map(({ name, contents }) => ({ name, contents })));
}
