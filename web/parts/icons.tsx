// Line icons on a grid of 16, one stroke wide. They stand beside words, or the button that has one has a label.

const PATHS = {
  processes: "M3 4h4M3 8h7M6 12h7M3 4v4M6 8v4",
  overview: "M2.5 13.5h11M4 11V8M8 11V4M12 11V6.5",
  schedule: "M8 4.5V8l2.5 1.5M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12Z",
  search: "M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9ZM10.5 10.5 14 14",
  memory: "M4 2.5h7.5v11H4a1.5 1.5 0 0 1 0-3h7.5M4 2.5A1.5 1.5 0 0 0 2.5 4v8",
  upkeep: "M2.5 5h11M4 5v8.5h8V5M6.5 8h3M5 5l1-2.5h4L11 5",
  settings:
    "M2.5 5h6M11.5 5h2M2.5 11h2M7.5 11h6M10 6.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3ZM6 12.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3Z",
  more: "M3.2 8h.02M8 8h.02M12.8 8h.02M3.2 7.6v.8M8 7.6v.8M12.8 7.6v.8",
  close: "M4 4l8 8M12 4l-8 8",
  right: "M6 4l4 4-4 4",
  down: "M4 6l4 4 4-4",
  send: "M3 8h9M8 4l4 4-4 4",
  stop: "M4.5 4.5h7v7h-7Z",
  play: "M5 3.5l7 4.5-7 4.5Z",
  pause: "M5.5 4v8M10.5 4v8",
  fork: "M5 3v7M5 6.5h3A2.5 2.5 0 0 0 10.5 4V3M5 13.5a1.75 1.75 0 1 0 0-3.5 1.75 1.75 0 0 0 0 3.5Z",
  rewind: "M4 5.5h5.5a3.5 3.5 0 1 1 0 7H6M6.5 3 4 5.5 6.5 8",
  pin: "M8 10v4M5 2.5h6M6 2.5v4L4 10h8l-2-3.5v-4",
  copy: "M5.5 5.5h7v7h-7ZM3.5 10.5v-7h7",
  attach: "M12 7.5 7.5 12a3 3 0 0 1-4.2-4.2L8 3a2 2 0 0 1 2.9 2.9l-4.6 4.6a1 1 0 0 1-1.5-1.4l4-4",
  download: "M8 2.5v7M5 7l3 3 3-3M3 13h10",
  plus: "M8 3.5v9M3.5 8h9",
  trash: "M3 4.5h10M6 4.5v-2h4v2M4.5 4.5l.5 9h6l.5-9",
  edit: "M3 13h2.5l7-7L10 3.5l-7 7ZM8.5 5 11 7.5",
  refresh: "M13 8a5 5 0 1 1-1.5-3.5L13 6M13 2.5V6H9.5",
  sun: "M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM8 1.5v1.5M8 13v1.5M1.5 8H3M13 8h1.5M3.5 3.5l1 1M11.5 11.5l1 1M3.5 12.5l1-1M11.5 4.5l1-1",
  link: "M7 9 9 7M6 6.5 4 8.5a2.5 2.5 0 0 0 3.5 3.5l2-2M10 9.5l2-2A2.5 2.5 0 0 0 8.5 4l-2 2",
  panel: "M2.5 3.5h11v9h-11ZM10 3.5v9",
  check: "M3.5 8.5 6.5 11.5 12.5 4.5",
  warn: "M8 3 14 13H2ZM8 7v2.5M8 11.3h.01",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
