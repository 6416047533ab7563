import { bareName } from "../../../../explain/analyses/frames/place-names.ts";
import type { AttributionKind, StackFrame } from "../../../../profile/model/working-set/working-set.ts";
import type { PathFrame } from "../common/call-path.ts";
import type { Screen } from "../common/screen.ts";
import { displayWidth, printable } from "../common/text.ts";

/** `func[79]` for a function without a name. */
export function functionName({ name, function: index }: StackFrame): string {
  return name ?? `func[${index}]`;
}

/** The same for chains of calls: without arguments, templates and results. */
export function pathFrame(frame: StackFrame): PathFrame {
  const { file, line, library } = frame;
  const name = frame.name === undefined ? functionName(frame) : bareName(frame.name);
  return { name, file, line, library };
}

const KIND_NAMES: Readonly<Record<AttributionKind, string>> = {
  code: "code",
  host: "(the host)",
  stack: "(stack)",
  static: "(static data)",
  heap: "(heap, no block)",
  mapping: "(mapped file)",
  unknown: "(not known)",
};

/** What lines are attributed to that is no code. */
export function kindName({ kind, of }: { kind: AttributionKind; of?: string | undefined }): string {
  const name = KIND_NAMES[kind];
  return of === undefined ? name : `${name.slice(0, -1)}: ${printable(of)})`;
}

/**
 * `sweep(char*) sweep.c:7 via memset`, `sweep(char*) +0x1f3`; what has no debug information is named by its offset.
 */
export function nameOf(
  screen: Screen,
  {
    frame,
    via,
    kind,
    of,
    file,
    line,
  }: {
    readonly frame?: StackFrame | undefined;
    readonly via?: StackFrame | undefined;
    readonly kind?: AttributionKind | undefined;
    readonly of?: string | undefined;
    readonly file?: string | undefined;
    readonly line?: number | undefined;
  },
  width: number,
): string {
  if (frame === undefined)
    return screen.paint.faint(kind === undefined ? "(bulk memory instructions)" : kindName({ kind, of }));
  const path = file === undefined ? undefined : printable(file);
  const name = functionName(frame);
  const source = screen.isWide ? path : path?.split(/[/\\]/).at(-1);
  const called = via === undefined ? "" : ` via ${printable(pathFrame(via).name)}`;
  const place =
    source !== undefined
      ? `${source}:${line}`
      : frame.offset === undefined
        ? ""
        : `+0x${frame.offset.toString(16)}`;
  const room = Math.max(12, width - place.length - 1);
  const whole = screen.isWide || displayWidth(name + called) <= room ? called : "";
  if (whole !== called) screen.isShortened = true;
  return `${screen.fit(name, room - displayWidth(whole))} ${screen.paint.faint(place + whole)}`;
}
