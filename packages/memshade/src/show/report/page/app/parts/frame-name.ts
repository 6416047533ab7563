import { h } from "preact";
import type { FrameNames } from "../model/names.ts";
import { el } from "./element.ts";
import { shown } from "./shown-text.ts";

/** A function with its location. The title has the full path of the file. */
export function FrameName({ names, frame }: { names: FrameNames; frame: number }) {
  const place = names.place(frame);
  return h(
    "span",
    { class: "frame", title: titleOf(names, frame) },
    el("span.function", shown(names.function(frame))),
    place === "" ? null : el("span.place", shown(place)),
  );
}

/** Returns the full description of a frame in one line. */
export function titleOf(names: FrameNames, frame: number): string {
  const file = names.file(frame);
  const line = names.line(frame);
  const place = file === undefined ? names.module(frame) : line > 0 ? `${file}:${line}` : file;
  return shown([names.function(frame), place].filter((part) => part !== undefined).join(" · "));
}
