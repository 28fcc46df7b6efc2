import { clean } from "../../src/base/harmless.ts";
import { piecesOf } from "./marks.ts";
import "./marked.css";

/** What was found, with the words that were searched for. Anybody may have written it: it is shown as text. */
export function Marked({ text, asked }: { readonly text: string; readonly asked: string }) {
  return (
    <>
      {piecesOf(clean(text), asked).map((piece, at) =>
        piece.isMarked ? <mark key={at}>{piece.text}</mark> : piece.text,
      )}
    </>
  );
}
