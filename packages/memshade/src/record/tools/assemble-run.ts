import { type Bound, boundsMember } from "../../profile/model/bound.ts";
import { RUN_SCHEMA, RUN_VERSION, type Run } from "../../profile/model/run.ts";
import { MEMSHADE_VERSION } from "../../profile/model/version.ts";
import type { ProfileFile } from "./session.ts";

/** A file of a run, under its member of `files`. */
export interface RunPartFile extends ProfileFile {
  readonly member: keyof Run["files"];
}

/** What one tool has of a run. */
export interface RunPart {
  readonly tools: Run["tools"];
  readonly heap?: Pick<Run, "heap" | "host"> | undefined;
  readonly files: readonly RunPartFile[];
  /** Shadow memory and tables that were touched, bytes. */
  readonly shadowBytes: number;
  readonly bounds: readonly Bound[];
}

/** What a run has whichever tools recorded it. */
export type RunBase = Pick<
  Run,
  "command" | "program" | "end" | "modules" | "children" | "notTracked" | "bounds"
> & {
  /** Bytes of rewritten modules. */
  readonly rewrittenBytes: number;
  /** What recording may take of memory, bytes. */
  readonly memoryLimit?: number | undefined;
};

/** The description of a run, `run.json`, of what its tools have: the one place where it is made. */
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

/** The files of parts, without what `run.json` says of them. */
export function filesOfParts(parts: readonly RunPart[]): ProfileFile[] {
  return parts.flatMap(({ files }) => files.map(({ name, contents }) => ({ name, contents })));
}
