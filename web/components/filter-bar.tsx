import clsx from 'clsx'
import { Search, X } from 'lucide-react'
import { useId, useState } from 'react'
import type { KeyboardEvent } from 'react'
import { isWholeTerm, splitTerms } from '../lib/filter.ts'
import { t } from '../strings/index.ts'
import { inputClass } from './forms/input-class.ts'
import { itemClass } from './overlays/popup-class.ts'

export interface FilterField {
  /** What stands before the colon. */
  readonly name: string
  /** What it means, shown beside it. */
  readonly about: string
  /** Values that are offered; others may be typed. */
  readonly values?: readonly string[]
}

interface FilterBarProps {
  readonly label: string
  /** The text is the truth: `status:error model:gpt*`. Chips are a view of it. Kept in the address by the page. */
  readonly value: string
  readonly onChange: (value: string) => void
  readonly fields: readonly FilterField[]
  readonly example: string
}

/** What is typed, what is offered for it, and the keys of the field. */
function useSuggestions({ value, onChange, fields }: Pick<FilterBarProps, 'value' | 'onChange' | 'fields'>) {
  const [typed, setTyped] = useState('')
  const [at, setAt] = useState(-1)
  const [isOpen, setOpen] = useState(false)
  const terms = splitTerms(value)
  const offers = isOpen ? suggestions(typed, fields) : []
  const type = (text: string) => {
    setTyped(text)
    setAt(-1)
    setOpen(true)
  }
  const take = (text: string) => {
    // A field without its value is typed on.
    if (!isWholeTerm(text)) return type(text)
    type('')
    setOpen(false)
    return onChange([...terms, ...splitTerms(text)].join(' '))
  }
  const press = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault()
      setOpen(true)
      setAt(now => Math.max(-1, Math.min(offers.length - 1, now + (event.key === 'ArrowDown' ? 1 : -1))))
    } else if (event.key === 'Enter') {
      event.preventDefault()
      const text = offers[at]?.text ?? typed.trim()
      if (text !== '') take(text)
    } else if (event.key === 'Escape' && isOpen) {
      event.stopPropagation()
      setOpen(false)
    } else if (event.key === 'Backspace' && typed === '') onChange(terms.slice(0, -1).join(' '))
  }
  return { typed, terms, offers, at, setOpen, type, take, press }
}

/** A filter as text, with suggestions while one types; each term is a chip that can be taken away. */
export function FilterBar({ label, value, onChange, fields, example }: FilterBarProps) {
  const { typed, terms, offers, at, setOpen, type, take, press } = useSuggestions({ value, onChange, fields })
  const list = useId()
  return (
    <div className="relative min-w-0 grow">
      <div className={clsx(inputClass, 'flex h-auto min-h-8 flex-wrap items-center gap-1 px-2 py-1 touch:py-0')}>
        <Search size={14} className="text-muted" aria-hidden />
        {terms.map((term, index) => (
          <Chip
            // biome-ignore lint/suspicious/noArrayIndexKey: the same term may stand there twice
            key={`${term} ${index}`}
            term={term}
            onRemove={() => onChange(terms.filter((_, other) => other !== index).join(' '))}
          />
        ))}
        <input
          role="combobox"
          aria-label={label}
          aria-expanded={offers.length > 0}
          aria-controls={list}
          aria-activedescendant={at >= 0 ? `${list}-${at}` : undefined}
          aria-autocomplete="list"
          data-search
          spellCheck={false}
          autoComplete="off"
          value={typed}
          placeholder={terms.length === 0 ? t('filter.placeholder', { example }) : ''}
          onChange={event => type(event.target.value)}
          onFocus={() => setOpen(true)}
          onBlur={() => setOpen(false)}
          onKeyDown={press}
          className="h-6 min-w-24 touch:h-11 grow bg-transparent font-mono text-code outline-none placeholder:font-sans"
        />
        {terms.length > 0 && (
          <button
            type="button"
            aria-label={t('filter.clear')}
            onClick={() => onChange('')}
            className="p-1 text-muted touch:p-4"
          >
            <X size={14} aria-hidden />
          </button>
        )}
      </div>
      <Offers id={list} label={label} offers={offers} at={at} onTake={take} />
    </div>
  )
}

interface OffersProps {
  readonly id: string
  readonly label: string
  readonly offers: readonly Suggestion[]
  readonly at: number
  readonly onTake: (text: string) => void
}

function Offers({ id, label, offers, at, onTake }: OffersProps) {
  return (
    <ul
      id={id}
      // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: the list of a combobox
      role="listbox"
      aria-label={label}
      className={clsx(
        'floating absolute inset-x-0 top-full z-20 mt-1 rounded-panel p-1',
        offers.length === 0 && 'hidden',
      )}
    >
      {offers.map((offer, index) => (
        <Offer key={offer.text} id={`${id}-${index}`} offer={offer} isChosen={index === at} onTake={onTake} />
      ))}
    </ul>
  )
}

function Chip({ term, onRemove }: { readonly term: string; readonly onRemove: () => void }) {
  return (
    <span className="inline-flex items-center gap-1 rounded-control bg-hover pl-2 font-mono text-code">
      {term}
      <button
        type="button"
        aria-label={t('all.remove', { what: term })}
        onClick={onRemove}
        className="p-1 text-muted touch:p-4"
      >
        <X size={12} aria-hidden />
      </button>
    </span>
  )
}

interface Suggestion {
  readonly text: string
  readonly about: string
}

interface OfferProps {
  readonly id: string
  readonly offer: Suggestion
  readonly isChosen: boolean
  readonly onTake: (text: string) => void
}

/** Chosen by the arrows of the field, which keeps the focus. */
function Offer({ id, offer, isChosen, onTake }: OfferProps) {
  return (
    // biome-ignore lint/a11y/useFocusableInteractive: aria-activedescendant of the field points here
    // biome-ignore lint/a11y/useKeyWithClickEvents: the field's Enter takes it
    <li
      id={id}
      // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: a choice of the combobox
      role="option"
      aria-selected={isChosen}
      onMouseDown={event => event.preventDefault()}
      onClick={() => onTake(offer.text)}
      className={clsx(itemClass, isChosen ? 'bg-hover' : 'hover:bg-hover')}
    >
      <span className="font-mono text-code">{offer.text}</span>
      <span className="text-muted">{offer.about}</span>
    </li>
  )
}

const offersMax = 8

function suggestions(typed: string, fields: readonly FilterField[]): Suggestion[] {
  const text = typed.trimStart()
  const colon = text.indexOf(':')
  if (colon < 0)
    return fields
      .filter(field => field.name.startsWith(text))
      .slice(0, offersMax)
      .map(field => ({ text: `${field.name}:`, about: field.about }))
  const field = fields.find(one => one.name === text.slice(0, colon))
  const plain = (value: string) => value.replaceAll('"', '').toLowerCase()
  return (field?.values ?? [])
    .filter(value => plain(value).startsWith(plain(text.slice(colon + 1))))
    .slice(0, offersMax)
    .map(value => ({ text: `${field!.name}:${value}`, about: '' }))
}
