import { Combobox as Base } from '@base-ui/react/combobox'
import clsx from 'clsx'
import { Check, ChevronsUpDown, X } from 'lucide-react'
import { useRef, useState } from 'react'
import { t } from '../../strings/index.ts'
import { Field } from './field.tsx'
import { inputClass } from './input-class.ts'
import { itemClass, popupClass } from '../overlays/popup-class.ts'
import type { Choice } from './select.tsx'

interface CommonProps {
  readonly label: string
  readonly choices: readonly Choice[]
  readonly help?: string
  readonly error?: string | null
  readonly placeholder?: string
  /** Called with what is typed, where the choices are searched by the server. */
  readonly onSearch?: (text: string) => void
}

interface ComboboxProps extends CommonProps {
  /** null = none chosen. */
  readonly value: string | null
  readonly onChange: (value: string | null) => void
}

/** One of many, found by typing. */
export function Combobox({ label, choices, help, error, placeholder, onSearch, value, onChange }: ComboboxProps) {
  const chosen = value === null ? null : (choices.find(one => one.value === value) ?? { value, label: value })
  return (
    <Field label={label} help={help} error={error}>
      <Base.Root
        items={choices}
        value={chosen}
        onValueChange={choice => onChange(choice?.value ?? null)}
        isItemEqualToValue={(one, other) => one.value === other.value}
        onInputValueChange={text => onSearch?.(text)}
        filter={onSearch ? null : undefined}
      >
        <div className="relative">
          <Base.Input placeholder={placeholder ?? t('all.search')} className={clsx(inputClass, 'pr-8')} />
          <Base.Trigger
            className="absolute inset-y-0 right-0 flex items-center justify-end px-2 text-muted touch:w-11"
            aria-label={label}
          >
            <ChevronsUpDown size={14} aria-hidden />
          </Base.Trigger>
        </div>
        <ChoiceList />
      </Base.Root>
    </Field>
  )
}

interface MultiComboboxProps extends CommonProps {
  readonly value: readonly string[]
  readonly onChange: (value: string[]) => void
  /** What is typed and no choice is taken, too. */
  readonly isFree?: boolean
}

/** Several of many: chips before the field, the last one removed by Backspace. */
export function MultiCombobox(props: MultiComboboxProps) {
  const { label, choices, help, error, placeholder, value, onChange, isFree = false } = props
  const [typed, setTyped] = useState('')
  // The field forgets it before it tells that the focus has left.
  const pending = useRef('')
  const own = typed.trim()
  const isNew = isFree && own !== '' && !choices.some(one => one.value === own) && !value.includes(own)
  const chosen = value.map(one => choices.find(choice => choice.value === one) ?? { value: one, label: one })
  return (
    <Field label={label} help={help} error={error}>
      <Base.Root
        multiple
        items={isNew ? [{ value: own, label: own, about: t('all.addTyped') }, ...choices] : choices}
        autoHighlight={isFree}
        onInputValueChange={(text, { reason }) => {
          setTyped(text)
          if (reason === 'input-change') pending.current = text
        }}
        value={chosen}
        onValueChange={(list, { reason }) => {
          // Escape closes the list, or the dialog around; it would also take all that was chosen.
          pending.current = ''
          if (reason !== 'escape-key') onChange(list.map(one => one.value))
        }}
        isItemEqualToValue={(one, other) => one.value === other.value}
      >
        <Base.Chips
          className={clsx(inputClass, 'flex h-auto min-h-8 flex-wrap items-center gap-1 px-1 py-1 touch:py-0')}
        >
          {chosen.map(one => (
            <Base.Chip key={one.value} className="flex items-center gap-1 rounded-control bg-hover pl-2">
              {one.label}
              <Base.ChipRemove className="p-1 text-muted touch:p-4" aria-label={t('all.remove', { what: one.label })}>
                <X size={12} aria-hidden />
              </Base.ChipRemove>
            </Base.Chip>
          ))}
          <Base.Input
            placeholder={chosen.length === 0 ? (placeholder ?? t('all.search')) : ''}
            // What was typed is meant, also without Enter.
            onBlur={() => {
              const text = pending.current.trim()
              pending.current = ''
              if (isFree && text !== '' && !value.includes(text)) onChange([...value, text])
            }}
            className="h-6 min-w-24 grow bg-transparent px-2 outline-none touch:h-11"
          />
        </Base.Chips>
        <ChoiceList />
      </Base.Root>
    </Field>
  )
}

function ChoiceList() {
  return (
    <Base.Portal>
      <Base.Positioner sideOffset={4} className="z-50">
        <Base.Popup className={popupClass}>
          <Base.Empty className="px-2 text-muted empty:hidden">{t('all.noMatch')}</Base.Empty>
          <Base.List>
            {(choice: Choice) => (
              <Base.Item key={choice.value} value={choice} className={itemClass}>
                <span className="grow">{choice.label}</span>
                {choice.about && <span className="text-muted">{choice.about}</span>}
                <Base.ItemIndicator>
                  <Check size={14} aria-hidden />
                </Base.ItemIndicator>
              </Base.Item>
            )}
          </Base.List>
        </Base.Popup>
      </Base.Positioner>
    </Base.Portal>
  )
}
