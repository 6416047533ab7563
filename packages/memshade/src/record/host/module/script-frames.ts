import { dispensable } from "../../../ground/bytes/dispensable.ts";
import { entryOf } from "../../../ground/bytes/entries.ts";
import { type ReadText, ScriptFile } from "../../../names/load/script-file.ts";
import type { RunHostFrame } from "../../../profile/model/run.ts";
import type { HostFrame } from "../../tools/heap/read/host-callers.ts";

/** Adds source positions and glue marks to frames, from the files of their scripts. Reads each file once. */
export class ScriptFrames {
  readonly #files = new Map<string, ScriptFile>();
  readonly #read: ReadText | undefined;

  /** @param read returns the text of a script or of its source map; by default reads files of this machine */
  constructor(read?: ReadText) {
    this.#read = read;
  }

  readonly describe = ({ start, ...frame }: HostFrame): RunHostFrame => {
    const { file, line = 0, column = 0 } = frame;
    if (file === undefined || file.startsWith("node:") || line === 0) return frame;
    const script = this.#fileOf(file);
    const written = () => script.written({ line, column }, frame.name, start);
    const source = frame.source ?? dispensable(written, () => {});
    return {
      ...frame,
      ...(source === undefined ? {} : { source }),
      ...(script.glue === undefined || source !== undefined ? {} : { glue: script.glue }),
    };
  };

  #fileOf(file: string): ScriptFile {
    const scriptFile = entryOf(this.#files, file, () => new ScriptFile(file, this.#read));
    return scriptFile;
  }
}
