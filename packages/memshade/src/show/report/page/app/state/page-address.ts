import { useCallback, useEffect, useState } from "preact/hooks";
import { type PageState, readState, writeState } from "./state.ts";

/** Changes some of the state. A change that is typed letter by letter takes the place of the one before in the history. */
export type Change = (part: Partial<PageState>, isTyped?: boolean) => void;

/** The state in the address, and how to change it; it follows `back` and `forward`. */
export function useAddress(): [PageState, Change] {
  const [state, setState] = useState(() => readState(location.hash));
  useEffect(() => {
    const follow = () => setState(readState(location.hash));
    addEventListener("popstate", follow);
    addEventListener("hashchange", follow);
    return () => {
      removeEventListener("popstate", follow);
      removeEventListener("hashchange", follow);
    };
  }, []);
  const change = useCallback<Change>((part, isTyped = false) => {
    const next = { ...readState(location.hash), ...part };
    const hash = `#${writeState(next)}`;
    if (hash === (location.hash || "#")) return;
    history[isTyped ? "replaceState" : "pushState"](null, "", hash);
    setState(next);
  }, []);
  return [state, change];
}
