import { withoutSignature } from "../../../../../explain/analyses/frames/function-names.ts";
import { othersName } from "../../app/model/merged.ts";
import { type FrameNames, lastPart } from "../../app/model/names.ts";
import { shown } from "../../app/parts/shown-text.ts";
import type { BoxGroup } from "../view.ts";

/** What boxes are called. All of it may be drawn: what cannot be seen is written out. */
export class BoxNames {
  readonly #names: FrameNames;
  readonly #group: BoxGroup;
  /** Labels and places by frame. */
  readonly #labels: (string | undefined)[] = [];
  readonly #places: (string | undefined)[] = [];

  constructor(names: FrameNames, group: BoxGroup) {
    this.#names = names;
    this.#group = group;
  }

  /**
   * The name without what a function takes; the root, which is no frame, has `all`.
   *
   * @param merged how many merged call paths a box has, where that is known
   */
  label(frame: number, merged?: number): string {
    if (frame < 0) return "all";
    if (this.#names.is(frame, "others")) return othersName(merged);
    this.#labels[frame] ??= shown(this.#labelOf(frame));
    return this.#labels[frame];
  }

  #labelOf(frame: number): string {
    if (this.#group === "package") return this.#names.package(frame);
    if (this.#group === "file")
      return lastPart(this.#names.file(frame) ?? this.#names.module(frame) ?? "unknown");
    return withoutSignature(this.#names.function(frame));
  }

  /** `tile.cpp:41`, as far as the boxes have one; else nothing. */
  place(frame: number): string {
    if (frame < 0 || this.#group === "file" || this.#group === "package") return "";
    this.#places[frame] ??= shown(
      this.#group === "function" ? lastPart(this.#names.file(frame) ?? "") : this.#names.place(frame),
    );
    return this.#places[frame];
  }

  /** Label and place: `Tiles::load tile.cpp:41`. */
  line(frame: number, merged?: number): string {
    return `${this.label(frame, merged)} ${this.place(frame)}`.trimEnd();
  }

  /** The name with everything that it has, and the whole path. */
  full(frame: number, merged?: number): { name: string; place: string } {
    if (frame < 0) return { name: "all", place: "" };
    if (this.#names.is(frame, "others")) return { name: othersName(merged), place: "" };
    const file = this.#names.file(frame);
    const line = this.#group === "line" && this.#names.line(frame) > 0 ? `:${this.#names.line(frame)}` : "";
    const isFunction = this.#group === "line" || this.#group === "function";
    return {
      name: isFunction ? shown(this.#names.function(frame)) : this.label(frame),
      place:
        this.#group === "package"
          ? ""
          : shown(file === undefined ? (this.#names.module(frame) ?? "") : file + line),
    };
  }
}
