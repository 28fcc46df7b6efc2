// What is typed, a moment after the last letter: nobody is asked about every one of them.

import { useEffect, useState } from "preact/hooks";

const PAUSE_MS = 150;

export function useLate(text: string): string {
  const [late, setLate] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setLate(text), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return late;
}
