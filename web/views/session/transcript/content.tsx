// What is inside of a message: words, thinking, pictures, and what was too long for its line and is read when somebody wants it.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { bytes as size } from "../../../../src/base/figures.ts";
import { clean, oneLine } from "../../../../src/base/harmless.ts";
import { isBlobName, type BlobName, type Block } from "../../../../src/transcript/entry.ts";
import { Button } from "../../../parts/button.tsx";
import { Code, Markdown, PLAIN_CHARS_MAX } from "../../../parts/markdown.tsx";
import { tried } from "../../../parts/toast.tsx";
import { call } from "../../../wire/call.ts";

/** Nobody checked what others wrote inside a message, so only what looks like a block is taken for one. */
export function blocksIn(content: unknown): readonly Block[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  if (!Array.isArray(content)) return [];
  return content.filter((block): block is Block => typeof block === "object" && block !== null);
}

export function textIn(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Closed until somebody opens it; and what is in it is not made before that. */
export function Fold(parts: {
  readonly label: ComponentChildren;
  readonly look: string;
  readonly seq?: number;
  readonly children: () => ComponentChildren;
}) {
  const { label, look, seq, children } = parts;
  const [isOpen, setOpen] = useState(false);
  return (
    <details
      class={`fold ${look}`}
      open={isOpen}
      {...(seq === undefined ? {} : { "data-part": seq })}
      onToggle={(event: Event) => setOpen((event.currentTarget as HTMLDetailsElement).open)}
    >
      <summary>{label}</summary>
      {isOpen && <div class="inside">{children()}</div>}
    </details>
  );
}

interface Of {
  readonly sessionKey: string;
}

/** The words and pictures of somebody. `isOwn`: of who looks, who knows what is on them. */
export function Blocks(parts: Of & { readonly blocks: readonly Block[]; readonly isOwn?: boolean }) {
  const { blocks, sessionKey, isOwn = false } = parts;
  return (
    <>
      {blocks.map((block, at) => (
        <One key={at} block={block} sessionKey={sessionKey} isOwn={isOwn} />
      ))}
    </>
  );
}

function One({ block, sessionKey, isOwn }: Of & { readonly block: Block; readonly isOwn: boolean }) {
  if (block.type === "image") return <Picture data={textIn(block.data)} mimeType={textIn(block.mimeType)} />;
  if (block.type !== "text") return null;
  const { blob } = block;
  const text = textIn(block.text);
  if (!isBlobName(blob)) return <Words text={text} />;
  const mimeType = textIn((block as { readonly mimeType?: unknown }).mimeType);
  return isPicture(mimeType) ? (
    <KeptPicture blob={blob} mimeType={mimeType} sessionKey={sessionKey} isOwn={isOwn} />
  ) : (
    <Kept blob={blob} sessionKey={sessionKey} head={<Words text={text} />} />
  );
}

/** Of what is longer the beginning; all of it, when it is wanted. */
function Words({ text }: { readonly text: string }) {
  const [isWhole, setWhole] = useState(false);
  if (text.trim() === "") return null;
  if (text.length <= PLAIN_CHARS_MAX) return <Markdown text={text} />;
  return (
    <>
      <pre class="as-is">{clean(isWhole ? text : text.slice(0, HEAD_CHARS))}</pre>
      {!isWhole && (
        <Button look="quiet" onClick={() => setWhole(true)}>
          Show all ({size(text.length)})
        </Button>
      )}
    </>
  );
}

const HEAD_CHARS = 20_000;

/** Lines of a tool, or anything that keeps its lines. */
export function Lines({ text, lang = "" }: { readonly text: string; readonly lang?: string }) {
  const [isWhole, setWhole] = useState(false);
  const isLong = text.length > HEAD_CHARS && !isWhole;
  return (
    <>
      <Code text={isLong ? text.slice(0, HEAD_CHARS) : text} lang={lang} />
      {isLong && (
        <Button look="quiet" onClick={() => setWhole(true)}>
          Show all ({size(text.length)})
        </Button>
      )}
    </>
  );
}

// ── What is kept elsewhere ──────────────────────────────────────────────────────────────────────────────────

interface KeptParts extends Of {
  readonly blob: BlobName;
  /** What stays in the transcript: its beginning and its end. */
  readonly head: ComponentChildren;
}

/** Head and tail, until somebody wants all of it; then page by page. */
export function Kept({ blob, sessionKey, head }: KeptParts) {
  const [pages, setPages] = useState<readonly string[]>([]);
  const [next, setNext] = useState<number | null>(0);
  const [isBusy, setBusy] = useState(false);
  const read = async (): Promise<void> => {
    if (next === null) return;
    setBusy(true);
    const page = await tried(call("result", { sessionKey, ref: blob.sha256, from: next }));
    setBusy(false);
    if (page === null) return;
    setPages((was) => [...was, page.text ?? ""]);
    setNext(page.next);
  };
  const left = blob.bytes - (next ?? blob.bytes);
  return (
    <div class="kept">
      {pages.length === 0 ? head : pages.map((page, at) => <Code key={at} text={page} lang="" />)}
      {next !== null && (
        <Button isDisabled={isBusy} onClick={() => void read()}>
          {pages.length === 0 ? `Show all (${size(blob.bytes)})` : `Show more (${size(left)} left)`}
        </Button>
      )}
    </div>
  );
}

// ── Pictures ────────────────────────────────────────────────────────────────────────────────────────────────

/** Those that are pixels and nothing else: an SVG is a document. */
function isPicture(mimeType: string): boolean {
  return /^image\/(?:png|jpeg|gif|webp)$/.test(mimeType);
}

function Picture({ data, mimeType }: { readonly data: string; readonly mimeType: string }) {
  if (!isPicture(mimeType) || !/^[A-Za-z0-9+/]+=*$/.test(data))
    return <p class="soft">a picture that is not shown ({oneLine(mimeType).slice(0, 60) || "of no type"})</p>;
  const source = `data:${mimeType};base64,${data}`;
  return (
    <a class="picture" href={source} download="picture" title="Keep it as a file">
      <img src={source} alt="Sent with this message" />
    </a>
  );
}

/** A multiple of three, so that pages in base64 can be put after each other. */
const PICTURE_PAGE_BYTES = 261_120;
const PICTURE_BYTES_MAX = 32 * 1024 * 1024;
/** Of one's own, shown without being asked for when it comes into sight: a screenshot, mostly. */
const OWN_BYTES_MAX = 1024 * 1024;

interface KeptPictureParts extends Of {
  readonly blob: BlobName;
  readonly mimeType: string;
  readonly isOwn: boolean;
}

function KeptPicture({ blob, mimeType, sessionKey, isOwn }: KeptPictureParts) {
  const [data, setData] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const place = useRef<HTMLSpanElement>(null);
  const read = async (): Promise<void> => {
    setBusy(true);
    setData(await tried(pictureIn(sessionKey, blob)));
    setBusy(false);
  };
  const isAtOnce = isOwn && blob.bytes <= OWN_BYTES_MAX;
  useEffect(() => {
    if (!isAtOnce || place.current === null) return;
    const watcher = new IntersectionObserver((seen) => {
      if (!seen.some(({ isIntersecting }) => isIntersecting)) return;
      watcher.disconnect();
      void read();
    });
    watcher.observe(place.current);
    return () => watcher.disconnect();
  }, [blob.sha256, isAtOnce]);
  if (data !== null) return <Picture data={data} mimeType={mimeType} />;
  return (
    <span ref={place}>
      <Button isDisabled={isBusy || blob.bytes > PICTURE_BYTES_MAX} onClick={() => void read()}>
        Show picture ({size(blob.bytes)})
      </Button>
    </span>
  );
}

async function pictureIn(sessionKey: string, blob: BlobName): Promise<string> {
  let data = "";
  for (let from: number | null = 0; from !== null;) {
    const page: { readonly data: string | null; readonly next: number | null } = await call("result", {
      sessionKey,
      ref: blob.sha256,
      from,
      bytes: PICTURE_PAGE_BYTES,
      as: "base64",
    });
    data += page.data ?? "";
    from = page.next;
  }
  return data;
}
