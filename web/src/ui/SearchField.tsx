import { useEffect, useState } from 'react';
import { TextField } from './TextField';

const PAUSE = 300; // ms in typing after which it is looked for

interface Props {
  label: string;
  value: string; // what is looked for
  onSearch: (text: string) => void;
  className?: string;
}

/** What somebody types, told once they pause; it follows `value` when that changes by another way. */
export function SearchField({ label, value, onSearch, className = 'w-72' }: Props) {
  const [typed, setTyped] = useState(value);
  const [held, setHeld] = useState(value);
  if (held !== value) {
    setHeld(value);
    if (typed.trim() !== value) setTyped(value);
  }
  useEffect(() => {
    if (typed.trim() === value) return undefined;
    const timer = setTimeout(() => {
      onSearch(typed.trim());
    }, PAUSE);
    return () => {
      clearTimeout(timer);
    };
  }, [typed, value, onSearch]);
  return (
    <TextField
      label={label}
      type="search"
      className={className}
      maxLength={200}
      value={typed}
      onChange={(event) => {
        setTyped(event.target.value);
      }}
    />
  );
}
