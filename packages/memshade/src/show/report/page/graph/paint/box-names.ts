import { withoutSignature } from "../../../../../explain/analyses/frames/function-names.ts";
import { othersName } from "../../app/model/merged.ts";
import { type FrameNames, lastPart } from "../../app/model/names.ts";
import { shown } from "../../app/parts/shown-text.ts";
import type { BoxGroup } from "../view.ts";

/** Names of boxes, safe to draw: invisible characters are escaped. */
export class BoxNames {
  readonly #names: FrameNames;
  readonly #group: BoxGroup;
  /** Labels and locations by frame. */
  readonly #labels: (string | undefined)[] = [];
  readonly #places: (string | undefined)[] = [];

  constructor(names: FrameNames, group: BoxGroup) {
    this.#names = names;
    this.#group = group;
  }

  /**
   * Returns the name without parameters; the root has the name `all`.
   *
   * @param merged number of merged call paths of the box, if known
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

  /** Formats `tile.cpp:41`; empty if boxes have no location. */
  place(frame: number): string {
    if (frame < 0 || this.#group === "file" || this.#group === "package") return "";
    this.#places[frame] ??= shown(
      this.#group === "function" ? lastPart(this.#names.file(frame) ?? "") : this.#names.place(frame),
    );
    return this.#places[frame];
  }

  /** Formats label and location: `Tiles::load tile.cpp:41`. */
  line(frame: number, merged?: number): string {
    return `${this.label(frame, merged)} ${this.place(frame)}`.trimEnd();
  }

  /** Returns the full name with its parameters, and the full path. */
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
