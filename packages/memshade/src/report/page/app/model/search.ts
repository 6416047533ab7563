// Which contexts the words of a filter are on.
import type { PageData } from "../../data/page-data.ts";
import type { TextTerm } from "./filter-language.ts";
import type { FrameNames } from "./names.ts";

/** One a context: whether all terms hold; undefined where there are none. */
export function matchingContexts(
  data: PageData,
  names: FrameNames,
  naming: Int32Array,
  terms: readonly TextTerm[],
): Uint8Array | undefined {
  if (terms.length === 0) return undefined;
  const matches = new Uint8Array(data.contexts.length).fill(1);
  for (const term of terms) {
    const wanted = term.isWanted ? 1 : 0;
    const found = term.field === "path" ? onPath(data, names, term) : atSite(data, names, naming, term);
    for (let context = 0; context < matches.length; context++)
      if (found[context] !== wanted) matches[context] = 0;
  }
  return matches;
}

/** A caller that matches makes all that it calls match. */
function onPath({ contexts, frames }: PageData, names: FrameNames, term: TextTerm): Uint8Array {
  const ofFrame = Uint8Array.from({ length: frames.length }, (_, frame) =>
    term.matches(`${names.function(frame)} ${names.file(frame) ?? ""} ${names.place(frame)}`) ? 1 : 0,
  );
  const found = new Uint8Array(contexts.length);
  for (let context = 0; context < found.length; context++) {
    const parent = contexts.parent[context];
    found[context] = ofFrame[contexts.frame[context]] | (parent < 0 ? 0 : found[parent]);
  }
  return found;
}

function atSite({ frames }: PageData, names: FrameNames, naming: Int32Array, term: TextTerm): Uint8Array {
  const textOf = (frame: number): string => {
    if (term.field === "function") return names.function(frame);
    if (term.field === "package") return names.package(frame);
    return names.line(frame) > 0
      ? `${names.file(frame) ?? ""}:${names.line(frame)}`
      : (names.file(frame) ?? "");
  };
  const ofFrame = Uint8Array.from({ length: frames.length }, (_, frame) =>
    term.matches(textOf(frame)) ? 1 : 0,
  );
  return Uint8Array.from(naming, (frame) => ofFrame[frame]);
}
