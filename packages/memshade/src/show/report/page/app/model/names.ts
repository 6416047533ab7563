// Names of frames. Texts from the program are returned unescaped: callers must pass them through `shown`.
import { FRAME_FLAGS, type PageData } from "../../data/page-data.ts";

export class FrameNames {
  readonly #data: PageData;

  constructor(data: PageData) {
    this.#data = data;
  }

  function(frame: number): string {
    return this.#data.strings[this.#data.frames.function[frame]] ?? "";
  }

  /** Returns the full path of the file; undefined if unknown. */
  file(frame: number): string | undefined {
    const path = this.#data.strings[this.#data.frames.file[frame]];
    return path === undefined ? undefined : plainPath(path);
  }

  line(frame: number): number {
    return this.#data.frames.line[frame];
  }

  module(frame: number): string | undefined {
    return this.#data.modules[this.#data.frames.module[frame]]?.name;
  }

  /** Formats `shop.c:42`, or the known part of it; the module if the file is unknown. */
  place(frame: number): string {
    const file = this.file(frame);
    if (file === undefined) return this.module(frame) ?? "";
    return this.line(frame) > 0 ? `${lastPart(file)}:${this.line(frame)}` : lastPart(file);
  }

  /** Returns the library or npm package; else the folder of the file, else the module. */
  package(frame: number): string {
    if (this.is(frame, "others")) return this.function(frame);
    const library = this.#data.strings[this.#data.frames.library[frame]];
    if (library !== undefined) return library;
    const file = this.file(frame);
    const ofNpm = file && /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(`/${file}`);
    if (ofNpm) return ofNpm[1];
    const ofCargo = file && /\/registry\/src\/[^/]+\/([^/]+)\//.exec(file);
    if (ofCargo) return ofCargo[1];
    const folder = file && /^(?:\.\/)?(.+)\/[^/]*$/.exec(file);
    return (folder ? folder[1] : undefined) ?? this.module(frame) ?? "unknown";
  }

  is(frame: number, flag: keyof typeof FRAME_FLAGS): boolean {
    return (this.#data.frames.flags[frame] & FRAME_FLAGS[flag]) !== 0;
  }
}

/** Removes the leading `./` that compilers add. */
export function plainPath(path: string): string {
  return path.replace(/^(?:\.\/+)+(?=.)/, "");
}

export function lastPart(path: string): string {
  // The URL of a folder has no file name.
  return path.endsWith("/") ? "/" : path.slice(path.lastIndexOf("/") + 1);
}
