// Going through the links of a list by keys: the one that has the focus is the one that is meant, and Enter opens it like every link.

/** The next or the one before; the first, if none has the focus. */
export function stepIn(list: HTMLElement | null, by: 1 | -1): void {
  const links = list === null ? [] : [...list.querySelectorAll<HTMLElement>("a[data-step]")];
  const at = links.indexOf(document.activeElement as HTMLElement);
  const to = at < 0 ? 0 : Math.min(links.length - 1, Math.max(0, at + by));
  links[to]?.focus();
  links[to]?.scrollIntoView({ block: "nearest" });
}
