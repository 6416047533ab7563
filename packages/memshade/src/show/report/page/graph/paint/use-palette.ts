import type { RefObject } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";
import { onSchemeChange, type Palette, readPalette } from "./palette.ts";

/** Returns the page's colours at an element; undefined until it is mounted. */
export function usePalette(element: RefObject<HTMLElement | null>): Palette | undefined {
  const [palette, setPalette] = useState<Palette | undefined>(undefined);
  useLayoutEffect(() => {
    const read = () => setPalette(readPalette(element.current!));
    read();
    return onSchemeChange(read);
  }, [element]);
  return palette;
}
