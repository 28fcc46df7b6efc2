// A field that searches, or filters what is listed. Escape is the same in all of them: it takes the words away; where there are none
// it leaves, and keys are keys again.

interface SearchFieldParts {
  /** For who does not see where it stands. */
  readonly label: string;
  readonly placeholder: string;
  readonly value: string;
  readonly onText: (text: string) => void;
  readonly class?: string;
  readonly charsMax?: number;
  /** Of keys that Escape is not. */
  readonly onKey?: (event: KeyboardEvent) => void;
  /** When it comes, and when it goes (null). */
  readonly onThere?: (field: HTMLInputElement | null) => void;
}

export function SearchField(parts: SearchFieldParts) {
  const { label, placeholder, value, onText, charsMax = 400, onKey, onThere } = parts;
  return (
    <input
      type="search"
      aria-label={label}
      placeholder={placeholder}
      maxLength={charsMax}
      value={value}
      {...(parts.class === undefined ? {} : { class: parts.class })}
      {...(onThere === undefined ? {} : { ref: onThere })}
      onInput={({ currentTarget }: { readonly currentTarget: HTMLInputElement }) =>
        onText(currentTarget.value)
      }
      onKeyDown={(event: KeyboardEvent) => {
        if (event.key !== "Escape" || event.isComposing) return onKey?.(event);
        event.preventDefault(); // Browsers differ in what they would do; and it is nobody else's key now.
        const field = event.currentTarget as HTMLInputElement;
        if (field.value === "") leave(field);
        else onText("");
      }}
    />
  );
}

/** Into the view, so that Tab goes on from there, and what the view does with keys it does. */
function leave(field: HTMLInputElement): void {
  field.blur();
  field.closest<HTMLElement>("main")?.focus({ preventScroll: true });
}
