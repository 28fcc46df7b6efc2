import type { ComponentChildren } from "preact";
import { Icon, type IconName } from "./icons.tsx";
import { warn } from "./telling.ts";

interface ButtonParts {
  readonly children?: ComponentChildren;
  readonly icon?: IconName;
  /** What it does, for who does not see its icon; needed when it has no words. */
  readonly label?: string;
  /** plain: beside others. main: what one came for. danger: it destroys. */
  readonly look?: "plain" | "main" | "danger" | "quiet";
  readonly isDisabled?: boolean;
  /** Why it cannot be used, for as long as that is so; undefined: it can. It is found by who looks for it, and says this to who uses it. */
  readonly unless?: string | undefined;
  /** Of one that stays in: on or off. */
  readonly isOn?: boolean;
  readonly type?: "button" | "submit";
  readonly onClick?: (event: MouseEvent) => void;
}

export function Button(parts: ButtonParts) {
  const { children, icon, label, look = "plain", isDisabled = false, isOn, type = "button" } = parts;
  const { unless } = parts;
  const onClick = unless === undefined ? parts.onClick : refusing(unless);
  const title = unless ?? label;
  const isBare = children === undefined;
  return (
    <button
      type={type}
      class={`button ${look}${isBare ? " bare" : ""}`}
      disabled={isDisabled}
      {...(unless === undefined ? {} : { "aria-disabled": true })}
      {...(label === undefined ? {} : { "aria-label": label })}
      {...(title === undefined ? {} : { title })}
      {...(isOn === undefined ? {} : { "aria-pressed": isOn })}
      {...(onClick === undefined ? {} : { onClick })}
    >
      {icon !== undefined && <Icon name={icon} />}
      {children}
    </button>
  );
}

/** Neither is a form sent. The second of two fast clicks was meant for what the first has done. */
function refusing(why: string): (event: MouseEvent) => void {
  return (event) => {
    event.preventDefault();
    if (event.detail < 2) warn(`${why}.`);
  };
}
