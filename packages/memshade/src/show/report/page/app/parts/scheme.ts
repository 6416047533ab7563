// Colour scheme: the system's, until the user chooses another. Printed pages are light.

import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { attempt } from "../../../../../ground/bytes/dispensable.ts";
import { useMedia } from "./media.ts";

const CHOICES = ["system", "light", "dark"] as const;
type Choice = (typeof CHOICES)[number];

const KEY = "memshade-scheme";

/**
 * Returns the choice, and a function that selects the next one. Canvases redraw on the event
 * `memshade-scheme` of the root element.
 */
export function useScheme(): [Choice, () => void] {
  const [choice, setChoice] = useState<Choice>(keptChoice);
  const systemIsDark = useMedia("(prefers-color-scheme: dark)");
  const [isPrinting, setPrinting] = useState(false);
  const onScreen = choice === "system" ? (systemIsDark ? "dark" : "light") : choice;
  const scheme = isPrinting ? "light" : onScreen;
  if (document.documentElement.dataset.scheme !== scheme) document.documentElement.dataset.scheme = scheme;
  // Canvases must turn light before the page is printed.
  useLayoutEffect(() => {
    document.documentElement.dispatchEvent(new Event("memshade-scheme"));
  }, [scheme]);
  useEffect(() => {
    const begin = () => setPrinting(true);
    const end = () => setPrinting(false);
    addEventListener("beforeprint", begin);
    addEventListener("afterprint", end);
    return () => {
      removeEventListener("beforeprint", begin);
      removeEventListener("afterprint", end);
    };
  }, []);
  const next = () => {
    const chosen = CHOICES[(CHOICES.indexOf(choice) + 1) % CHOICES.length];
    keepChoice(chosen);
    setChoice(chosen);
  };
  return [choice, next];
}

// Pages opened from a file may have no storage.
function keptChoice(): Choice {
  return attempt(() => CHOICES.find((choice) => choice === localStorage.getItem(KEY)) ?? "system", "system");
}

function keepChoice(choice: Choice): void {
  try {
    localStorage.setItem(KEY, choice);
  } catch {
    // The choice lasts until the page is closed if there is no storage.
  }
}
