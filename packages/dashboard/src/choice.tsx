import { useId, type ReactNode } from "react";

/** One of a few, side by side; radio buttons, so the arrow keys move between them. */
export function Choice<Value extends string>(props: {
  label: string;
  value: Value;
  options: readonly { readonly value: Value; readonly label: ReactNode }[];
  onChoose: (value: Value) => void;
}): ReactNode {
  const { label, value, options, onChoose } = props;
  const name = useId();

  return (
    <div className="choice" role="radiogroup" aria-label={label}>
      {options.map((option) => (
        <label key={option.value}>
          <input
            type="radio"
            name={name}
            value={option.value}
            checked={option.value === value}
            onChange={() => onChoose(option.value)}
          />
          {option.label}
        </label>
      ))}
    </div>
  );
}
