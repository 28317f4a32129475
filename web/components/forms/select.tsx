import { Select as Base } from '@base-ui/react/select'
import clsx from 'clsx'
import { Check, ChevronsUpDown } from 'lucide-react'
import { Field } from './field.tsx'
import { inputClass } from './input-class.ts'
import { itemClass, popupClass } from '../overlays/popup-class.ts'

export interface Choice<Value extends string = string> {
  readonly value: Value
  readonly label: string
  /** A second, fainter text. */
  readonly about?: string
}

export interface SelectProps<Value extends string> {
  readonly label: string
  readonly choices: readonly Choice<Value>[]
  readonly value: Value
  readonly onChange: (value: Value) => void
  readonly help?: string
  readonly error?: string | null
  /** The label is only read to screen readers: for lines of filters. */
  readonly isCompact?: boolean
  readonly disabled?: boolean
}

/** One of a few. More than about ten: Combobox. */
export function Select<Value extends string>(props: SelectProps<Value>) {
  if (props.isCompact) return <SelectBox {...props} />
  return (
    <Field label={props.label} help={props.help} error={props.error}>
      <SelectBox {...props} />
    </Field>
  )
}

function SelectBox<Value extends string>({ label, choices, value, onChange, isCompact, disabled }: SelectProps<Value>) {
  return (
    <Base.Root
      items={choices}
      value={value}
      onValueChange={chosen => chosen !== null && onChange(chosen)}
      disabled={disabled}
    >
      <Base.Trigger
        aria-label={isCompact ? label : undefined}
        className={clsx(inputClass, 'inline-flex items-center justify-between gap-2', isCompact && 'max-w-fit')}
      >
        <Base.Value />
        <Base.Icon>
          <ChevronsUpDown size={14} className="text-muted" aria-hidden />
        </Base.Icon>
      </Base.Trigger>
      <Base.Portal>
        <Base.Positioner sideOffset={4} alignItemWithTrigger={false} className="z-50">
          <Base.Popup className={popupClass}>
            <Base.List>
              {choices.map(choice => (
                <Base.Item key={choice.value} value={choice.value} className={itemClass}>
                  <Base.ItemText className="grow">{choice.label}</Base.ItemText>
                  {choice.about && <span className="text-muted">{choice.about}</span>}
                  <Base.ItemIndicator>
                    <Check size={14} aria-hidden />
                  </Base.ItemIndicator>
                </Base.Item>
              ))}
            </Base.List>
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  )
}
