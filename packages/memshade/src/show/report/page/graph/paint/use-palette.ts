import type { RefObject } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";
import { onSchemeChange, type Palette, readPalette } from "./palette.ts";

/** The page's colours where an element is; undefined until it is on the page. */
export function usePalette(element: RefObject<HTMLElement | null>): Palette | undefined {
  const [palette, setPalette] = useState<Palette | undefined>(undefined);
  useLayoutEffect(() => {
    const read = () => setPalette(readPalette(element.current!));
    read();
    return onSchemeChange(read);
  }, [element]);
  return palette;
}
