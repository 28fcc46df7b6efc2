import { bytes } from "../../../src/base/figures.ts";
import { Button } from "../../parts/button.tsx";
import { Icon } from "../../parts/icons.tsx";
import { redraft, type Draft, type Picture } from "./draft.ts";

/** What goes with the message; each can be taken out again. */
export function Attachments({ sessionKey, draft }: { readonly sessionKey: string; readonly draft: Draft }) {
  const { pictures, files } = draft;
  if (pictures.length + files.length === 0) return null;
  return (
    <ul class="attached" aria-label="Attached">
      {pictures.map((picture, at) => (
        <li key={picture.url} class="picture">
          <img src={picture.url} alt={picture.name} />
          <Button
            icon="close"
            look="quiet"
            label={`Remove ${picture.name}`}
            onClick={() => {
              forget(picture);
              redraft(sessionKey, { pictures: pictures.filter((_, each) => each !== at) });
            }}
          />
        </li>
      ))}
      {files.map((file, at) => (
        <li key={`${at} ${file.name}`} class="file">
          <Icon name="attach" />
          <span>{file.name}</span>
          <small>{bytes(new TextEncoder().encode(file.text).length)}</small>
          <Button
            icon="close"
            look="quiet"
            label={`Remove ${file.name}`}
            onClick={() => redraft(sessionKey, { files: files.filter((_, each) => each !== at) })}
          />
        </li>
      ))}
    </ul>
  );
}

function forget({ url }: Picture): void {
  if (url.startsWith("blob:")) URL.revokeObjectURL(url);
}
