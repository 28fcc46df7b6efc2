import type { ComponentChildren } from "preact";
import { Icon, type IconName } from "./icons.tsx";

interface ButtonParts {
  readonly children?: ComponentChildren;
  readonly icon?: IconName;
  /** What it does, for who does not see its icon; needed when it has no words. */
  readonly label?: string;
  /** plain: beside others. main: what one came for. danger: it destroys. */
  readonly look?: "plain" | "main" | "danger" | "quiet";
  readonly isDisabled?: boolean;
  /** Of one that stays in: on or off. */
  readonly isOn?: boolean;
  readonly type?: "button" | "submit";
  readonly onClick?: (event: MouseEvent) => void;
}

export function Button(parts: ButtonParts) {
  const { children, icon, label, look = "plain", isDisabled = false, isOn, type = "button", onClick } = parts;
  const isBare = children === undefined;
  return (
    <button
      type={type}
      class={`button ${look}${isBare ? " bare" : ""}`}
      disabled={isDisabled}
      {...(label === undefined ? {} : { "aria-label": label, title: label })}
      {...(isOn === undefined ? {} : { "aria-pressed": isOn })}
      {...(onClick === undefined ? {} : { onClick })}
    >
      {icon !== undefined && <Icon name={icon} />}
      {children}
    </button>
  );
}
