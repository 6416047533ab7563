// Light or dark: as the system says, until somebody says otherwise. Paper is light.
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { useMedia } from "./media.ts";

const CHOICES = ["system", "light", "dark"] as const;
type Choice = (typeof CHOICES)[number];

const KEY = "memshade-scheme";

/** What is chosen, and how to choose the next one. Canvases redraw on the event `memshade-scheme` of the root element. */
export function useScheme(): [Choice, () => void] {
  const [choice, setChoice] = useState<Choice>(keptChoice);
  const systemIsDark = useMedia("(prefers-color-scheme: dark)");
  const [isPrinting, setPrinting] = useState(false);
  const onScreen = choice === "system" ? (systemIsDark ? "dark" : "light") : choice;
  const scheme = isPrinting ? "light" : onScreen;
  if (document.documentElement.dataset.scheme !== scheme) document.documentElement.dataset.scheme = scheme;
  // Before anything is printed, canvases are to be light.
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

// Pages from a disk may have no storage.
function keptChoice(): Choice {
  try {
    return CHOICES.find((choice) => choice === localStorage.getItem(KEY)) ?? "system";
  } catch {
    return "system";
  }
}

function keepChoice(choice: Choice): void {
  try {
    localStorage.setItem(KEY, choice);
  } catch {
    // It holds until the page is closed.
  }
}
