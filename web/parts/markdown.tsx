// Markdown that anybody may have written, as elements. There is no markup in between: every piece becomes an element of a kind that
// is named here, or text. HTML is shown as text, pictures are links, and links lead to the web or to a letter.

import type { Token, Tokens } from "marked";
import { Fragment, type ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { clean } from "../../src/base/harmless.ts";
import { Button } from "./button.tsx";
import { copied } from "./clipboard.ts";
import { addressOf, tokensOf, wordsIn } from "./tokens.ts";
import "./markdown.css";

/** Characters of a text that is shown as it is: what is longer is cut, and whoever shows it offers the rest. */
export const PLAIN_CHARS_MAX = 300_000;

/** Elements inside of each other. */
const DEPTH_MAX = 40;

export function Markdown({ text }: { readonly text: string }) {
  return useMemo(() => {
    const tokens = tokensOf(text);
    if (tokens === null) return <pre class="as-is">{clean(text.slice(0, PLAIN_CHARS_MAX))}</pre>;
    return <div class="markdown">{blocks(tokens, 0)}</div>;
  }, [text]);
}

function blocks(tokens: readonly Token[], depth: number): ComponentChildren {
  return tokens.map((token, at) => <Fragment key={at}>{block(token as Known, depth)}</Fragment>);
}

type Known =
  | Tokens.Blockquote
  | Tokens.Checkbox
  | Tokens.Code
  | Tokens.Def
  | Tokens.Heading
  | Tokens.Hr
  | Tokens.HTML
  | Tokens.List
  | Tokens.Paragraph
  | Tokens.Space
  | Tokens.Table
  | Tokens.Text;

function block(token: Known, depth: number): ComponentChildren {
  if (depth > DEPTH_MAX) return clean(token.raw);
  switch (token.type) {
    case "space":
      return null;
    case "hr":
      return <hr />;
    case "heading": {
      // A page has one first heading, and a view has its own: an answer's begin below them.
      const Level = `h${Math.min(6, token.depth + 2)}` as "h3";
      return <Level class={`depth-${token.depth}`}>{inline(token.tokens, depth)}</Level>;
    }
    case "code":
      return <Code text={token.text} lang={token.lang ?? ""} />;
    case "blockquote":
      return <blockquote>{blocks(token.tokens, depth + 1)}</blockquote>;
    case "list":
      return <List list={token} depth={depth} />;
    case "table":
      return <Table table={token} depth={depth} />;
    case "paragraph":
      return <p>{inline(token.tokens, depth)}</p>;
    case "text":
      return token.tokens === undefined ? wordsIn(token.text) : inline(token.tokens, depth);
    case "checkbox":
      return <Check isDone={token.checked} />;
    default:
      // HTML, and whatever is not known here.
      return <p class="raw">{clean(token.raw).trim()}</p>;
  }
}

function List({ list, depth }: { readonly list: Tokens.List; readonly depth: number }) {
  const items = list.items.map((item, at) => (
    <li key={at} class={item.task ? "task" : ""}>
      {blocks(item.tokens, depth + 1)}
    </li>
  ));
  if (!list.ordered) return <ul>{items}</ul>;
  return (
    <ol {...(typeof list.start === "number" && list.start !== 1 ? { start: list.start } : {})}>{items}</ol>
  );
}

function Check({ isDone }: { readonly isDone: boolean }) {
  return (
    <span role="img" aria-label={isDone ? "done" : "open"}>
      {isDone ? "☑ " : "☐ "}
    </span>
  );
}

function Table({ table, depth }: { readonly table: Tokens.Table; readonly depth: number }) {
  const cell = (Name: "th" | "td") => (each: Tokens.TableCell, at: number) => (
    <Name key={at} {...(each.align === null ? {} : { class: each.align })}>
      {inline(each.tokens, depth + 1)}
    </Name>
  );
  return (
    <div class="wide" tabIndex={0} role="group" aria-label="Table">
      <table>
        <thead>
          <tr>{table.header.map(cell("th"))}</tr>
        </thead>
        <tbody>
          {table.rows.map((row, at) => (
            <tr key={at}>{row.map(cell("td"))}</tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Code, or anything that keeps its lines. */
export function Code({ text, lang }: { readonly text: string; readonly lang: string }) {
  const shown = clean(text);
  const name = clean(lang).split(/\s/, 1)[0]?.slice(0, 24) ?? "";
  return (
    <figure class="code">
      <figcaption>
        <span>{name}</span>
        <Button icon="copy" label="Copy" look="quiet" onClick={() => void copied(shown)} />
      </figcaption>
      <pre tabIndex={0}>
        <code>{shown}</code>
      </pre>
    </figure>
  );
}

type Inner =
  | Tokens.Br
  | Tokens.Checkbox
  | Tokens.Codespan
  | Tokens.Del
  | Tokens.Em
  | Tokens.Escape
  | Tokens.Image
  | Tokens.Link
  | Tokens.Strong
  | Tokens.Tag
  | Tokens.Text;

function inline(tokens: readonly Token[], depth: number): ComponentChildren {
  return tokens.map((token, at) => <Fragment key={at}>{piece(token as Inner, depth + 1)}</Fragment>);
}

function piece(token: Inner, depth: number): ComponentChildren {
  if (depth > DEPTH_MAX) return clean(token.raw);
  switch (token.type) {
    case "text":
      return token.tokens === undefined ? wordsIn(token.text) : inline(token.tokens, depth);
    case "escape":
      return clean(token.text);
    case "br":
      return <br />;
    case "codespan":
      return <code>{clean(token.text)}</code>;
    case "em":
      return <em>{inline(token.tokens, depth)}</em>;
    case "strong":
      return <strong>{inline(token.tokens, depth)}</strong>;
    case "del":
      return <del>{inline(token.tokens, depth)}</del>;
    case "link":
      return <Link href={token.href}>{inline(token.tokens, depth)}</Link>;
    case "image":
      return <Link href={token.href}>picture: {wordsIn(token.text) || "without a name"}</Link>;
    case "checkbox":
      return <Check isDone={token.checked} />;
    default:
      return clean(token.raw);
  }
}

/** It is not followed from here, so nothing is told to where it leads. What leads nowhere is shown with where it wanted to lead. */
function Link({ href, children }: { readonly href: string; readonly children: ComponentChildren }) {
  const address = addressOf(href);
  if (address === null)
    return (
      <span class="no-link">
        {children} <code>{clean(href).slice(0, 200)}</code>
      </span>
    );
  return (
    <a href={address} title={address} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  );
}
