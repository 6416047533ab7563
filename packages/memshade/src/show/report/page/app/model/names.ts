// Names of frames. Everything that comes from the program is text as it was: whoever shows it calls `shown`.
import { FRAME_FLAGS, type PageData } from "../../data/page-data.ts";

export class FrameNames {
  readonly #data: PageData;

  constructor(data: PageData) {
    this.#data = data;
  }

  function(frame: number): string {
    return this.#data.strings[this.#data.frames.function[frame]] ?? "";
  }

  /** The whole path of the file, or nothing. */
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

  /** `shop.c:42`, or as much of it as is known; a module where no file is. */
  place(frame: number): string {
    const file = this.file(frame);
    if (file === undefined) return this.module(frame) ?? "";
    return this.line(frame) > 0 ? `${lastPart(file)}:${this.line(frame)}` : lastPart(file);
  }

  /** Library or npm package; else the folder of the file, else the module. */
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

/** Without the `./` that compilers write in front. */
export function plainPath(path: string): string {
  return path.replace(/^(?:\.\/+)+(?=.)/, "");
}

export function lastPart(path: string): string {
  // The page of a folder on the web has no other name.
  return path.endsWith("/") ? "/" : path.slice(path.lastIndexOf("/") + 1);
}
