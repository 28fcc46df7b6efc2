// A token that was just made, to be handed over: as a link that signs in, or as it is. It is told this once.

import { useRef, useState } from "preact/hooks";
import type { Output } from "../../../src/calls/door.ts";
import { Button } from "../../parts/button.tsx";
import { copied } from "../../parts/clipboard.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { isLoopback, linkOf, MAY } from "./handing.ts";

interface HandedParts {
  readonly made: Output<"createToken">;
  readonly onClose: () => void;
}

export function Handed({ made: { name, scope, token }, onClose }: HandedParts) {
  const [taken, setTaken] = useState<string | null>(null); // what was copied last
  const [isWarned, setWarned] = useState(false);
  // Who presses Escape, or a button, by chance has nothing left of it.
  const leave = (): void => (taken === null && !isWarned ? setWarned(true) : onClose());
  return (
    <Dialog title={`The token ${name}`} onClose={leave} isFirm>
      <div class="text">
        <p>
          <b>It is shown this once.</b> Nobody can tell it again, the daemon neither. It may <b>{scope}</b>:{" "}
          {MAY[scope]}.
        </p>
      </div>
      <Once
        label="Link"
        value={linkOf(location.origin, token)}
        hint={`It opens this page, signed in; the token leaves the address bar at once.${isLoopback(location.hostname) ? ` ${location.hostname} is this machine: elsewhere it needs an address by which the daemon is reached from there.` : ""}`}
        {...{ taken, setTaken }}
      />
      <Once
        label="Token"
        value={token}
        hint="For a program, which sends it as a Bearer token; or to be typed where this page asks for one."
        {...{ taken, setTaken }}
      />
      <p role="status" class="hint">
        {isWarned && taken === null && "It is not copied yet. Close once more to leave it at that."}
      </p>
      <footer>
        <Button onClick={leave}>Done</Button>
      </footer>
    </Dialog>
  );
}

interface OnceParts {
  readonly label: string;
  readonly value: string;
  readonly hint: string;
  readonly taken: string | null;
  readonly setTaken: (value: string) => void;
}

function Once({ label, value, hint, taken, setTaken }: OnceParts) {
  const field = useRef<HTMLInputElement>(null);
  const copy = async (): Promise<void> => {
    field.current?.select();
    if (await copied(value, null)) setTaken(value);
  };
  const isCopied = taken === value;
  return (
    <div class="field once">
      <label>
        <span>{label}</span>
        <input
          ref={field}
          class="mono"
          readOnly
          value={value}
          onFocus={() => field.current?.select()}
          onCopy={() => setTaken(value)}
        />
      </label>
      <Button
        icon={isCopied ? "check" : "copy"}
        label={`${isCopied ? "Copied" : "Copy"} the ${label.toLowerCase()}`}
        onClick={() => void copy()}
      >
        {isCopied ? "Copied" : "Copy"}
      </Button>
      <small>{hint}</small>
    </div>
  );
}
