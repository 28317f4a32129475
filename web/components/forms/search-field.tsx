import clsx from 'clsx'
import { Search } from 'lucide-react'
import { inputClass } from './input-class.ts'

interface SearchFieldProps {
  /** What is searched: "Search teams by name". */
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
}

/** The search of a list; `/` goes to it. */
export function SearchField({ label, value, onChange }: SearchFieldProps) {
  return (
    <span className={clsx(inputClass, 'inline-flex max-w-dialog items-center gap-2')}>
      <Search size={14} className="shrink-0 text-muted" aria-hidden />
      <input
        data-search
        type="search"
        aria-label={label}
        placeholder={label}
        value={value}
        onChange={event => onChange(event.target.value)}
        className="h-full touch:-my-px touch:h-11 min-w-0 grow bg-transparent outline-none"
      />
    </span>
  )
}
